export { pairingHandlers } from './pair.ts'
export {
  endedSessionCookie,
  openSessions,
  type Sessions,
  type SignedIn,
  sessionCookie,
  sessionId,
} from './sign-in.ts'
