// Pairing a client with an account: the client asks, shows its code and waits; a person who is signed in
// compares the code and decides; the client takes a key of its own.

import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { notFound, problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import { ACTIVE_KEYS_MAX } from './account-rows.ts'
import { describeToken, makeToken } from './key.ts'
import {
  hashRequestId,
  makeRequestId,
  makeUserCode,
  type Pairing,
  readUserCode,
} from './pairing.ts'
import {
  findPendingPairing,
  insertPairing,
  markPairingApproved,
  markPairingDenied,
  takePairing,
} from './pairing-rows.ts'

/** How long there is to approve a client, and how many may wait for it over all addresses. */
export const PAIRING_MS = 10 * MINUTE_MS

type PairingDeps = { db: Db; clock: Clock; chance: Chance; makeId: MakeId; log: Log }

/** A code that another pairing has already is likelier to be a fault than chance. */
const CODES_TRIED_MAX = 5

/** `rate_limit_exceeded` when too many wait over all clients. */
export async function startPairing(
  { db, clock, chance }: PairingDeps,
  client: { clientName: string | null; clientAddress: string },
): Promise<{ requestId: string; userCode: string }> {
  const nowMs = clock.now()
  const requestId = makeRequestId(chance)
  const requestHash = hashRequestId(requestId)
  for (let tried = 0; tried < CODES_TRIED_MAX; tried += 1) {
    const userCode = makeUserCode(chance)
    const started = { ...client, requestHash, userCode, nowMs, expiresAtMs: nowMs + PAIRING_MS }
    const outcome = await db.write(insertPairing, started)
    if (outcome === 'started') return { requestId, userCode }
    if (outcome === 'taken') continue
    throw problem('rate_limit_exceeded', 'Too many clients are waiting for approval.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  throw new Error('Every code that was drawn was in use.')
}

/**
 * The token once it was approved, which this call makes and no other gets; null while nobody has
 * decided. `not_found` when it is over, denied or taken; `api_key_limit_reached` as long as the account
 * can have no other key.
 */
export async function pollPairing(
  { db, clock, chance, makeId, log }: PairingDeps,
  requestId: string,
): Promise<string | null> {
  const token = makeToken(chance)
  const { tokenHash, tokenPrefix, last4 } = describeToken(token)
  const key = { id: makeId('key'), tokenHash, tokenPrefix, last4 }
  const requestHash = hashRequestId(requestId)
  const taken = await db.write(takePairing, { requestHash, key, nowMs: clock.now() })
  if (taken.outcome === 'pending') return null
  if (taken.outcome === 'not_found') throw notFound()
  if (taken.outcome === 'limit_reached') throw limitReached()
  const { accountId, approvedBy, pairing } = taken
  const { clientName, clientAddress } = pairing
  log.info(
    { accountId, keyId: key.id, approvedBy, clientName, clientAddress },
    'a paired client received its key',
  )
  return token
}

/** `not_found` when nobody waits with this code. */
export async function getPairing(
  { db, clock }: { db: Db; clock: Clock },
  code: string,
): Promise<Pairing> {
  const userCode = readUserCode(code)
  const found = userCode && (await findPendingPairing(db, { userCode, nowMs: clock.now() }))
  if (!found) throw notFound()
  return found
}

type Decision = { readonly code: string; readonly accountId: string; readonly keyId: string }

/** `api_key_limit_reached` when the account can have no other key; again by the same account is done. */
export async function approvePairing(
  { db, clock, log }: PairingDeps,
  { code, accountId, keyId }: Decision,
): Promise<void> {
  const userCode = readUserCode(code)
  if (userCode === null) throw notFound()
  const decision = { userCode, accountId, keyId, nowMs: clock.now() }
  const outcome = await db.write(markPairingApproved, decision)
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'limit_reached') throw limitReached()
  log.info({ accountId, keyId, userCode }, 'a client was approved')
}

/** `not_found` when there is none to deny, also the second time. */
export async function denyPairing(
  { db, clock, log }: PairingDeps,
  { code, accountId, keyId }: Decision,
): Promise<void> {
  const userCode = readUserCode(code)
  const isDenied =
    userCode !== null &&
    (await db.write(markPairingDenied, { userCode, accountId, nowMs: clock.now() }))
  if (!isDenied) throw notFound()
  log.info({ accountId, keyId, userCode }, 'a client was denied')
}

function limitReached() {
  return problem(
    'api_key_limit_reached',
    `The account has reached the limit of ${ACTIVE_KEYS_MAX} active keys.`,
  )
}
