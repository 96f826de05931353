export { getPolicy, policyHandlers, putPolicy } from './handlers.ts'
export { judgeApproved, judgeSend, type SendJudgement } from './judge-send.ts'
export type { JudgedMessage } from './judged-message.ts'
export { senderRuleHandlers } from './sender-rule-handlers.ts'
