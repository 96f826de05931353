export {
  LOG_POLL_MS,
  LOG_STALL_MS,
  LOG_STEP_EVENTS,
  type LogReader,
  openLogReader,
  openStall,
  type Stall,
} from './follow-log.ts'
