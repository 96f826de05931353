export { createApprover, deleteApprover } from './approver.ts'
export {
  createAccount,
  createFirstAccount,
  getAccount,
  type NewAccount,
  updateAccount,
} from './create-account.ts'
export { isAudited } from './find-audited.ts'
export { accountHandlers } from './handlers.ts'
