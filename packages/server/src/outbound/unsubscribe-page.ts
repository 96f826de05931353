// What people see of a link to unsubscribe: a page with a button, one that says that it is done, and one
// for a link that is none. No script, nothing from elsewhere, and nothing that others may keep or find.

import { hash } from 'node:crypto'
import { escapeHtml } from '#http/escape-html.ts'
import type { BinaryResponse } from '#http/handler.ts'

/** Asks; its button posts to the same address. */
export function askPage(address: string): BinaryResponse {
  return page(
    200,
    'Unsubscribe?',
    `<p>No more mail will be sent by this sender to <b>${escapeHtml(address)}</b>.</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
  )
}

/** Also where the address was on the list before. */
export function donePage(address: string): BinaryResponse {
  return page(
    200,
    'You are unsubscribed',
    `<p>This sender will send no more mail to <b>${escapeHtml(address)}</b>.</p>
<p>You can close this page.</p>`,
  )
}

/** With 404. */
export function unknownPage(): BinaryResponse {
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
