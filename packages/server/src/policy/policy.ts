export type { JudgedMessage } from './guards.ts'
export { judgeSend, type SendJudgement } from './judge-send.ts'
export { getPolicy, policyHandlers, putPolicy } from './policy-handlers.ts'
export { senderRuleHandlers } from './sender-rules.ts'
