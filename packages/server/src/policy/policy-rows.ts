import './policy-change-rows.ts'

export { SENDER_PROOFS, type SenderProof } from './send-policy-rows.ts'
export { candidateValuesOf, judgeSender, type Sender } from './sender-rule.ts'
export { findRulesForValues } from './sender-rule-rows.ts'
