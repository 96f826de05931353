// Handlers of the pairing of a client with an account.

import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import type { Chance } from '#platform/chance.ts'
import { type Clock, presentTime } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/budgets.ts'
import type { Db } from '#schema/tables.ts'
import {
  approvePairing,
  denyPairing,
  getPairing,
  PAIRING_MS,
  pollPairing,
  startPairing,
} from './pairings.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
  log: Log
  publicUrl: string
  budgets: Budgets
}

/** From one address; a client polls every two to five seconds, and several may share an address. */
const PAIRING_STARTS_PER_MINUTE_MAX = 10
const PAIRING_POLLS_PER_MINUTE_MAX = 60
/** Codes that an account looks up, approves and denies: a person types a few, a guesser needs billions. */
export const PAIRING_LOOKS_PER_MINUTE_MAX = 20

type PairingHandlers = Pick<Handlers, Extract<keyof Handlers, `pairing.${string}`>>

/** One for each operation of pairing. */
export function pairingHandlers(deps: Needs): PairingHandlers {
  const limiter = (name: string, limit: number, message: string) => {
    const window = deps.budgets.openWindow({ name, limit, windowMs: MINUTE_MS })
    return async (key: string) => {
      const { isAllowed, resetSeconds } = await window.take(key)
      if (!isAllowed) throw rateLimited(message, resetSeconds)
    }
  }
  const [starts, polls] = [PAIRING_STARTS_PER_MINUTE_MAX, PAIRING_POLLS_PER_MINUTE_MAX]
  const takeStart = limiter('pairing starts', starts, 'Too many pairings from this address.')
  const takePoll = limiter('pairing polls', polls, 'Too many polls from this address.')
  // Codes are short: whoever is signed in may not go through them.
  const looks = PAIRING_LOOKS_PER_MINUTE_MAX
  const takeLook = limiter('pairing looks', looks, 'Too many codes were looked up.')
  const poll = async (requestId: string, { clientAddress, wantsContent }: Context) => {
    await takePoll(clientGroup(clientAddress))
    // The key would go with the content that HEAD is not sent.
    const apiKey = wantsContent ? await pollPairing(deps, requestId) : null
    if (apiKey === null) return { status: 202 as const, body: { status: 'pending' as const } }
    return { status: 200 as const, body: { status: 'ready' as const, apiKey } }
  }
  return {
    'pairing.start': async ({ body }, { clientAddress }) => {
      await takeStart(clientGroup(clientAddress))
      const clientName = body.clientName?.trim() || null
      const { requestId, userCode } = await startPairing(deps, { clientName, clientAddress })
      const verifyUrl = `${deps.publicUrl}/console/pair?code=${userCode}`
      return { requestId, userCode, verifyUrl, expiresInSeconds: PAIRING_MS / 1000 }
    },
    'pairing.poll': ({ body }, context) => poll(body.requestId, context),
    'pairing.pollByUrl': ({ query }, context) => poll(query.requestId, context),
    'pairing.get': async ({ path }, { accountId }) => {
      await takeLook(accountId)
      const pairing = await getPairing(deps, path.userCode)
      const { userCode, clientName, clientAddress, createdAtMs, expiresAtMs } = pairing
      return {
        userCode,
        clientName,
        clientAddress,
        createdAt: presentTime(createdAtMs),
        expiresAt: presentTime(expiresAtMs),
      }
    },
    'pairing.approve': async ({ path }, { accountId, keyId }) => {
      await takeLook(accountId)
      await approvePairing(deps, { code: path.userCode, accountId, keyId })
    },
    'pairing.deny': async ({ path }, { accountId, keyId }) => {
      await takeLook(accountId)
      await denyPairing(deps, { code: path.userCode, accountId, keyId })
    },
  }
}
