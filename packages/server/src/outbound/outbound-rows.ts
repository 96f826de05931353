export { type Captured, listCaptured, removeCaptured } from './captured-message-rows.ts'
export { deliveryQueue, type HeldDelivery } from './delivery-claim-rows.ts'
export { findSent, findSentByDelivery, type SentMessage } from './delivery-rows.ts'
export { findReplay, IDEMPOTENCY_MS } from './idempotency-key-rows.ts'
export { insertSend, type SendInput, type SendOutcome } from './send-message-rows.ts'
export {
  type DeriveKey,
  hopMarkOf,
  isReturnPath,
  RETURN_PATH_MS,
  readReturnPath,
} from './sent-marks.ts'
export {
  eventsOf,
  type LockedMessage,
  lockSentMessages,
  type SettledDelivery,
  type SettleInput,
  settleDeliveries,
  settleMessages,
} from './settle-deliveries-rows.ts'
export { addSuppressions, type NewSuppression, type SuppressionType } from './suppression-rows.ts'
export { newSuppression } from './suppressions.ts'
export { endWaiting, postponeSend } from './waiting-send-rows.ts'
