import { hash } from 'node:crypto'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import { escapeHtml } from '#http/escape-html.ts'
import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/budgets.ts'
import type { Db } from '#schema/tables.ts'
import { unsubscribe } from './suppressions.ts'
import { readUnsubscribeToken } from './unsubscribe-link.ts'

/** Uses of such links from one address in a minute: a large provider posts for all its users. */
const UNSUBSCRIBES_PER_MINUTE_MAX = 600

/** They share one bound on the uses of links from one address. */
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
    const { isAllowed, resetSeconds } = await uses.take(clientGroup(clientAddress))
    if (!isAllowed) throw rateLimited('Too many uses of links from this address.', resetSeconds)
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

/** People get a page, programs the error in the form of all others. */
function unknown({ headers }: Context): BinaryResponse {
  if (headers.accept?.includes('text/html')) return unknownPage()
  throw notFound()
}

/** Asks; its button posts to the same address. */
function askPage(address: string): BinaryResponse {
  return page(
    200,
    'Unsubscribe?',
    `<p>No more mail will be sent by this sender to <b>${escapeHtml(address)}</b>.</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
  )
}

/** Also where the address was on the list before. */
function donePage(address: string): BinaryResponse {
  return page(
    200,
    'You are unsubscribed',
    `<p>This sender will send no more mail to <b>${escapeHtml(address)}</b>.</p>
<p>You can close this page.</p>`,
  )
}

/** With 404. */
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
  // The address of the page is a secret of whoever got the mail.
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
