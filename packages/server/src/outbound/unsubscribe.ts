import { hash } from 'node:crypto'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import { escapeHtml } from '#http/answer.ts'
import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/rate-limits.ts'
import type { Db } from '#schema/tables.ts'
import { findSuppressed, insertSuppression } from './suppression-rows.ts'
import { newSuppression } from './suppressions.ts'

/** Uses of links from one address in a minute: a large provider posts for all its users. */
const UNSUBSCRIBES_PER_MINUTE_MAX = 600

export function unsubscribeHandlers(deps: {
  db: Db
  clock: Clock
  makeId: MakeId
  sealer: Sealer
  budgets: Budgets
}): Pick<Handlers, Extract<keyof Handlers, `unsubscribe.${string}`>> {
  const uses = deps.budgets.openWindow({
    name: 'unsubscribes',
    limit: UNSUBSCRIBES_PER_MINUTE_MAX,
    windowMs: MINUTE_MS,
  })
  const take = async ({ clientAddress }: Context) => {
    const refusal = await uses.take(clientGroup(clientAddress))
    if (refusal.isAllowed) return
    const { clock } = deps
    throw rateLimited('Too many uses of links from this address.', {
      scope: 'address',
      refusal,
      clock,
    })
  }
  return {
    'unsubscribe.show': async ({ path }, context) => {
      await take(context)
      const found = readUnsubscribeToken(deps.sealer, path.token)
      return found === null ? unknown(context) : askPage(found.address)
    },
    'unsubscribe.confirm': async ({ path }, context) => {
      await take(context)
      const done = await unsubscribe(deps, path.token)
      return done === null ? unknown(context) : donePage(done.address)
    },
  }
}

/**
 * Puts the address on the account's suppression list; an earlier entry stays unchanged. Null when this service did not
 * make the link.
 */
async function unsubscribe(
  deps: { db: Db; clock: Clock; makeId: MakeId; sealer: Sealer },
  token: string,
): Promise<Unsubscription | null> {
  const found = readUnsubscribeToken(deps.sealer, token)
  if (found === null) return null
  const { accountId, address, messageId } = found
  // Links are often used twice, and a read does not wait for the writer.
  if ((await findSuppressed(deps.db, accountId, [addressKey(address)])) !== null) return found
  const reason = `Unsubscribed by the link in ${messageId}.`
  const why = { accountId, address, type: 'unsub', reason } as const
  await deps.db.write(insertSuppression, newSuppression(deps, why))
  return found
}

/** Browsers get a page, programs the usual problem. */
function unknown({ headers }: Context): BinaryResponse {
  if (headers.accept?.includes('text/html')) return unknownPage()
  throw notFound()
}

function askPage(address: string): BinaryResponse {
  return page(
    200,
    'Unsubscribe?',
    `<p>No more mail will be sent by this sender to <b>${escapeHtml(address)}</b>.</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
  )
}

function donePage(address: string): BinaryResponse {
  return page(
    200,
    'You are unsubscribed',
    `<p>This sender will send no more mail to <b>${escapeHtml(address)}</b>.</p>
<p>You can close this page.</p>`,
  )
}

function unknownPage(): BinaryResponse {
  return page(
    404,
    'This link does not work',
    `<p>It may have been cut off or changed on the way. Open it once more from the message, or copy all of it.</p>
<p>Nothing was changed.</p>`,
  )
}

const style = `
:root { color-scheme: light dark }
body { margin: 12vh auto 4rem; max-width: 32rem; padding: 0 1.25rem; font: 1.05rem/1.6 system-ui, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.25 } b { overflow-wrap: anywhere }
button { font: inherit; padding: .6rem 1.4rem; border: 1px solid; border-radius: 6px; cursor: pointer }
`

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // The page's URL is a secret of the mail's recipient.
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/** `body` is HTML. */
function page(status: number, title: string, body: string): BinaryResponse {
  return {
    status,
    headers: HEADERS,
    content: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`,
  }
}

/** In characters; the token for the longest address has some 600. */
const UNSUBSCRIBE_TOKEN_LENGTH_MAX = 1_000

type Unsubscription = {
  accountId: string
  /** The recipient, as the request to send wrote it. */
  address: string
  messageId: string
}

const CONTEXT = 'unsubscribe'

/**
 * An absolute URL with a new token each time. Whoever has it may put the recipient of the message on the
 * suppression list of the account. The token is sealed: it discloses nothing and cannot be forged. It never
 * expires, because people read mail years later.
 */
export function unsubscribeUrl(
  { publicUrl, sealer }: { publicUrl: () => string; sealer: Sealer },
  { accountId, address, messageId }: Unsubscription,
): string {
  const plain = Buffer.from(JSON.stringify({ accountId, address, messageId }))
  const token = Buffer.from(sealer.seal(plain, CONTEXT)).toString('base64url')
  return `${publicUrl()}/unsubscribe/${token}`
}

/** Null for a token that this service did not make, or that was changed. */
export function readUnsubscribeToken(sealer: Sealer, token: string): Unsubscription | null {
  if (token.length > UNSUBSCRIBE_TOKEN_LENGTH_MAX) return null
  const sealed = Buffer.from(token, 'base64url')
  // Decoding skips characters that are no base64url.
  if (sealed.toString('base64url') !== token) return null
  const plain = sealer.open(sealed, CONTEXT)
  if (plain === null) return null
  return JSON.parse(Buffer.from(plain).toString()) as Unsubscription
}
