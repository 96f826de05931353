export { limitHandlers } from './limit-handlers.ts'
export { approveHeld, releaseDueSends } from './release-send.ts'
export { presentSent, sendHandlers } from './send-handlers.ts'
export { findReplay } from './send-message.ts'
export type { SendDeps } from './sender.ts'
export {
  type DeriveKey,
  hopMarkOf,
  isReturnPath,
  RETURN_PATH_MS,
  readReturnPath,
} from './sent-marks.ts'
export { newSuppression, suppressionHandlers } from './suppressions.ts'
export { unsubscribeHandlers } from './unsubscribe.ts'
