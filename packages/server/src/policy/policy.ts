export { judgeApproved, judgeSend, type SendJudgement } from './judge-send.ts'
export type { JudgedMessage } from './judged-message.ts'
export { getPolicy, policyHandlers, putPolicy } from './policy-handlers.ts'
export { senderRuleHandlers } from './sender-rules.ts'
