// Pairing a client with an account (RFC 8628). The client requests a code, shows it and polls; a
// signed-in person compares the code and decides; the client then fetches its own key.

import { hash } from 'node:crypto'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import { newKey, tooManyKeys } from '#accounts/keys/issue-key.ts'
import {
  findPendingPairing,
  insertPairing,
  markPairingApproved,
  markPairingDenied,
  takePairing,
} from '#accounts/sessions/store/pairings.ts'
import type { Context, HandlersOf } from '#http/handler.ts'
import { limiter } from '#http/problems.ts'
import type { Budgets } from '#limits/limits.ts'
import { type Chance, randomText } from '#platform/chance.ts'
import { presentTimes } from '#platform/clock.ts'
import { type AppError, notFound, problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'

type PairingDeps = Store & { chance: Chance }

/** A client polls every two to five seconds, and several clients may share an address. */
const PAIRING_STARTS_PER_MINUTE_MAX = 10
const PAIRING_POLLS_PER_MINUTE_MAX = 60
/** Enough for a person, who types a few codes; an attacker would have to guess billions. */
export const PAIRING_LOOKUPS_PER_MINUTE_MAX = 20

export function pairingHandlers(
  deps: PairingDeps & { publicUrl: () => string; budgets: Budgets },
): HandlersOf<'pairing'> {
  const limitStarts = limiter(deps, {
    name: 'pairing starts',
    perMinute: PAIRING_STARTS_PER_MINUTE_MAX,
    message: 'Too many pairings from this address.',
  })
  const limitPolls = limiter(deps, {
    name: 'pairing polls',
    perMinute: PAIRING_POLLS_PER_MINUTE_MAX,
    message: 'Too many polls from this address.',
  })
  const limitLookups = limiter(deps, {
    name: 'pairing looks',
    perMinute: PAIRING_LOOKUPS_PER_MINUTE_MAX,
    message: 'Too many codes were looked up.',
    scope: 'account',
  })
  const poll = async (requestId: string, { clientAddress, wantsContent }: Context) => {
    await limitPolls(clientGroup(clientAddress))
    // A response to HEAD has no content, so the key would be lost.
    const apiKey = wantsContent ? await pollPairing(deps, requestId) : null
    if (apiKey === null) return { status: 202 as const, body: { status: 'pending' as const } }
    return { status: 200 as const, body: { status: 'ready' as const, apiKey } }
  }
  return {
    'pairing.start': async ({ body }, { clientAddress }) => {
      await limitStarts(clientGroup(clientAddress))
      const clientName = body.clientName?.trim() || null
      const { requestId, userCode } = await startPairing(deps, { clientName, clientAddress })
      const verifyUrl = `${deps.publicUrl()}/console/pair?code=${userCode}`
      return { requestId, userCode, verifyUrl, expiresInSeconds: PAIRING_MS / 1000 }
    },
    'pairing.poll': ({ body }, context) => poll(body.requestId, context),
    'pairing.pollByUrl': ({ query }, context) => poll(query.requestId, context),
    'pairing.get': async ({ path }, { accountId }) => {
      await limitLookups(accountId)
      const userCode = requireUserCode(path.userCode)
      const found = await findPendingPairing(deps.db, { userCode, nowMs: deps.clock.now() })
      if (found === null) throw noPairing()
      return presentTimes(found)
    },
    'pairing.approve': async ({ path }, { accountId, keyId }) => {
      await limitLookups(accountId)
      const decision = { userCode: requireUserCode(path.userCode), accountId, keyId }
      const approved = { ...decision, nowMs: deps.clock.now() }
      const outcome = await deps.db.write(markPairingApproved, approved)
      if (outcome === 'not_found') throw noPairing()
      if (outcome === 'limit_reached') throw tooManyKeys()
      deps.log.info(decision, 'a client was approved')
    },
    'pairing.deny': async ({ path }, { accountId, keyId }) => {
      await limitLookups(accountId)
      const userCode = requireUserCode(path.userCode)
      const denied = { userCode, accountId, nowMs: deps.clock.now() }
      if (!(await deps.db.write(markPairingDenied, denied))) throw noPairing()
      deps.log.info({ accountId, keyId, userCode }, 'a client was denied')
    },
  }
}

const PAIRING_MS = 10 * MINUTE_MS

const CODES_TRIED_MAX = 5

const REQUEST_ID_BYTES = 32

/** Throws `rate_limit_exceeded` if too many pairings are pending in total. */
async function startPairing(
  { db, clock, chance }: PairingDeps,
  client: { clientName: string | null; clientAddress: string },
): Promise<{ requestId: string; userCode: string }> {
  const nowMs = clock.now()
  const requestId = Buffer.from(chance.bytes(REQUEST_ID_BYTES)).toString('base64url')
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
 * Returns the token of an approved pairing only once, and null while undecided. Throws
 * `api_key_limit_reached`, or `not_found` if the pairing has expired, was denied or was fetched.
 */
async function pollPairing(deps: PairingDeps, requestId: string): Promise<string | null> {
  const { stored: key, token } = newKey(deps, { name: null })
  const requestHash = hashRequestId(requestId)
  const taken = await deps.db.write(takePairing, { requestHash, key, nowMs: deps.clock.now() })
  if (taken.outcome === 'pending') return null
  if (taken.outcome === 'not_found') throw notFound()
  if (taken.outcome === 'limit_reached') throw tooManyKeys()
  const { accountId, approvedBy, pairing } = taken
  const { clientName, clientAddress } = pairing
  deps.log.info(
    { accountId, keyId: key.id, approvedBy, clientName, clientAddress },
    'a paired client received its key',
  )
  return token
}

/** No salt is needed, because the request id has 256 random bits. */
function hashRequestId(requestId: string): Uint8Array {
  return hash('sha256', requestId, 'buffer')
}

/** Consonants, which form no words, and digits that do not look like letters (RFC 8628 §6.1). */
const CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ3479'
const CODE_LENGTH = 8

function makeUserCode(chance: Chance): string {
  return grouped(randomText(chance, CODE_ALPHABET, CODE_LENGTH))
}

/** Accepts a code in any case, with or without the hyphen; otherwise throws `not_found`. */
function requireUserCode(text: string): string {
  const code = text.length > 2 * CODE_LENGTH ? '' : text.toUpperCase().replace(/[\s-]/g, '')
  const isCode =
    code.length === CODE_LENGTH && [...code].every((one) => CODE_ALPHABET.includes(one))
  if (!isCode) throw noPairing()
  return grouped(code)
}

function noPairing(): AppError {
  return problem('not_found', 'No program is waiting with this code; it may have expired.', {
    fix: 'Start the pairing again, and use the new code.',
  })
}

function grouped(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}
