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
} from './issue-key.ts'
