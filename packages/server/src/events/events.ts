export {
  type AskedFilter,
  type CheckedFilter,
  type CheckFilter,
  comparePositions,
  type EventFilter,
  type EventKind,
  isWanted,
  LOG_START,
  type LoggedEvent,
  type LogPosition,
  type MessageCategory,
  makeIsWanted,
} from './event.ts'
export {
  LOG_POLL_MS,
  LOG_STALL_MS,
  LOG_STEP_EVENTS,
  type LogReader,
  openLogReader,
  openStall,
  type Stall,
} from './follow-log.ts'
