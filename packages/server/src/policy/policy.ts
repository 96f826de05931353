export type { JudgedMessage } from './guards.ts'
export { judgeSend, type SendJudgement } from './judge-send.ts'
export { policyHandlers } from './policy-handlers.ts'
export {
  candidateValuesOf,
  judgeSender,
  type QuarantineReason,
  type Sender,
} from './sender-rule.ts'
export { senderRuleHandlers } from './sender-rules.ts'
