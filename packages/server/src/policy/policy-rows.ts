export { insertAudit, type NewAuditEntry, noteRejection, purgeAudit } from './audit-rows.ts'
export { insertPolicyRule, removePolicyRule, replacePolicy } from './policy-change-rows.ts'
export { findRulesForValues, insertSenderRule } from './sender-rule-rows.ts'
