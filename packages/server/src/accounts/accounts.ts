export {
  createAccount,
  createFirstAccount,
  getAccount,
  type NewAccount,
} from './account.ts'
export { accountHandlers } from './account-handlers.ts'
export { createApprover, deleteApprover } from './approver.ts'
export { isAudited } from './find-audited.ts'
export {
  approverDeleted,
  bearerToken,
  type Caller,
  digest,
  Identifier,
  type Identify,
  payerOf,
  requireOwnOrigin,
  type SignIn,
} from './identify.ts'
export {
  type Authenticate,
  createKey,
  makeAuthenticate,
  refuseScopedKey,
  revokeKey,
} from './key.ts'
export { pairingHandlers } from './pairing.ts'
export {
  endedSessionCookie,
  openSessions,
  type Sessions,
  type SignedIn,
  sessionCookie,
  sessionId,
} from './session.ts'
