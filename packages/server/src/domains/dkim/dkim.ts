export {
  type DkimKey,
  type DkimOwner,
  dkimKeyName,
  dkimKeyRecord,
  makeFewAtOnce,
  SERVICE_OWNER,
} from './dkim-key.ts'
export { DKIM_RETIRING_MS, type KeyRotation, rotateKey, settledAt } from './rotate-keys.ts'
