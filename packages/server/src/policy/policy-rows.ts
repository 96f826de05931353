export { findRulesForValues, insertSenderRule, removeSenderRule } from './sender-rule-rows.ts'
