// Handlers of the pairing of a client with an account.

import type { Deps } from '#actions/deps.ts'
import {
  approvePairing,
  denyPairing,
  getPairing,
  pollPairing,
  startPairing,
} from '#actions/pairing/pairings.ts'
import { clientGroup } from '#base/client-address.ts'
import {
  MINUTE_MS,
  PAIRING_LOOKS_PER_MINUTE_MAX,
  PAIRING_MS,
  PAIRING_POLLS_PER_MINUTE_MAX,
  PAIRING_STARTS_PER_MINUTE_MAX,
} from '#base/limits.ts'
import type { Context, Handlers } from '#http/handler.ts'
import { presentTime } from '#http/present/time.ts'
import { rateLimited } from '#http/problems.ts'

type PairingHandlers = Pick<Handlers, Extract<keyof Handlers, `pairing.${string}`>>

/** One for each operation of pairing. */
export function pairingHandlers(deps: Deps): PairingHandlers {
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
