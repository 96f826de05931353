export { policyHandlers } from './policy-handlers.ts'
export {
  candidateValuesOf,
  judgeSender,
  type QuarantineReason,
  type Sender,
} from './sender-rule.ts'
export { senderRuleHandlers } from './sender-rules.ts'
