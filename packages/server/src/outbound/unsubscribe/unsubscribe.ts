import { clientGroup } from '@mailroom/smtp/client-address.ts'
import { escapeHtml } from '#http/answer.ts'
import type { BinaryResponse, Handlers } from '#http/handler.ts'
import { linkPage, unknownLink } from '#http/link-page.ts'
import { limiter } from '#http/problems.ts'
import type { Budgets } from '#limits/limits.ts'
import { findSuppressed, insertSuppression } from '#outbound/suppressions/store/suppressions.ts'
import { newSuppression } from '#outbound/suppressions/suppressions.ts'
import { addressKey } from '#platform/email-address.ts'
import { openText, type Sealer, sealText } from '#platform/seal.ts'
import type { Store } from '#store/store.ts'

/** Requests per minute from one address. A large provider posts for all its users. */
const UNSUBSCRIBES_PER_MINUTE_MAX = 600

export function unsubscribeHandlers(
  deps: Store & { sealer: Sealer; budgets: Budgets },
): Pick<Handlers, Extract<keyof Handlers, `unsubscribe.${string}`>> {
  const limitUses = limiter(deps, {
    name: 'unsubscribes',
    perMinute: UNSUBSCRIBES_PER_MINUTE_MAX,
    message: 'Too many requests from this address.',
  })
  return {
    'unsubscribe.show': async ({ path }, context) => {
      await limitUses(clientGroup(context.clientAddress))
      const found = readUnsubscribeToken(deps.sealer, path.token)
      return found === null ? unknownLink(context) : askPage(found.address)
    },
    'unsubscribe.confirm': async ({ path }, context) => {
      await limitUses(clientGroup(context.clientAddress))
      const done = await unsubscribe(deps, path.token)
      return done === null ? unknownLink(context) : donePage(done.address)
    },
  }
}

/** An existing suppression stays unchanged. Returns null for a forged link. */
async function unsubscribe(
  deps: Store & { sealer: Sealer },
  token: string,
): Promise<Unsubscription | null> {
  const found = readUnsubscribeToken(deps.sealer, token)
  if (found === null) return null
  const { accountId, address, messageId } = found
  // Links are often used twice, and a read does not wait for the writer.
  if ((await findSuppressed(deps.db, accountId, [addressKey(address)])) !== null) return found
  const reason = `Unsubscribed through the link in ${messageId}.`
  const why = { accountId, address, type: 'unsub', reason } as const
  await deps.db.write(insertSuppression, newSuppression(deps, why))
  return found
}

function askPage(address: string): BinaryResponse {
  return linkPage(
    'Unsubscribe?',
    `<p>No more mail will be sent by this sender to <b>${escapeHtml(address)}</b>.</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
  )
}

function donePage(address: string): BinaryResponse {
  return linkPage(
    'You are unsubscribed',
    `<p>This sender will send no more mail to <b>${escapeHtml(address)}</b>.</p>
<p>You can close this page.</p>`,
  )
}

type Unsubscription = {
  accountId: string
  address: string
  messageId: string
}

const CONTEXT = 'unsubscribe'

/**
 * The token permits suppressing this recipient. It is sealed, so it discloses nothing and cannot be
 * forged. It never expires, because people read mail years later.
 */
export function unsubscribeUrl(
  { publicUrl, sealer }: { publicUrl: () => string; sealer: Sealer },
  { accountId, address, messageId }: Unsubscription,
): string {
  const token = sealText(sealer, JSON.stringify({ accountId, address, messageId }), CONTEXT)
  return `${publicUrl()}/unsubscribe/${token}`
}

export function readUnsubscribeToken(sealer: Sealer, token: string): Unsubscription | null {
  const text = openText(sealer, token, CONTEXT)
  return text === null ? null : (JSON.parse(text) as Unsubscription)
}
