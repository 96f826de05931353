// Pages behind links in mail: plain HTML without scripts, for readers without an account.

import { hash } from 'node:crypto'
import { notFound } from '#platform/problem.ts'
import type { BinaryResponse, Context } from './handler.ts'

const STYLE = `
:root { color-scheme: light dark }
body { margin: 6vh auto 4rem; max-width: 46rem; padding: 0 1.25rem; font: 1.05rem/1.6 system-ui, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { font-size: 1.15rem } b { overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { font-weight: 600 }
dd { margin: 0 } dd, li { overflow-wrap: anywhere; white-space: pre-wrap }
pre { max-height: 24rem; overflow: auto; padding: .6rem .8rem; border: 1px solid; border-radius: 6px }
pre { margin: .5rem 0; font: .9rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
summary { cursor: pointer } .notice { padding-left: .8rem; border-left: 4px solid; font-weight: 600 }
iframe { width: 100%; height: 24rem; border: 1px solid; border-radius: 6px; background: #fff }
.forms { display: flex; gap: 1rem; flex-wrap: wrap } .small { font-size: .85rem; overflow-wrap: anywhere }
label { display: block; margin: .3rem 0 } fieldset { margin: 1rem 0; border: 1px solid; border-radius: 6px }
input[type=password], textarea { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem }
button { font: inherit; padding: .6rem 1.4rem; border: 1px solid; border-radius: 6px; cursor: pointer }
`

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // The page's URL is a secret between the service and the mail's reader.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
}

/**
 * Headers of a page whose forms redirect to another site or program, which may have opened the page
 * in a window. The policy `same-origin` makes browsers send the origin of its forms.
 */
export function leadingHeaders(formTarget: string): typeof HEADERS {
  const { 'cross-origin-opener-policy': _, ...headers } = HEADERS
  const policy = HEADERS['content-security-policy'] ?? ''
  return {
    ...headers,
    'content-security-policy': policy.replace('form-action', `form-action ${formTarget}`),
    'referrer-policy': 'same-origin',
  }
}

/** `title` and `body` must be HTML. */
export function linkPage(
  title: string,
  body: string,
  { status = 200, headers = HEADERS }: { status?: number; headers?: typeof HEADERS } = {},
): BinaryResponse {
  return {
    status,
    headers,
    content: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<style>${STYLE}</style>
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

/** Returns a page to a browser, and throws `not_found` for a program. */
export function unknownLink({ headers }: Context): BinaryResponse {
  if (!headers.accept?.includes('text/html')) throw notFound()
  return linkPage(
    'This link does not work',
    `<p>It may have been cut off on the way, or the message is gone. Open it once more from your mail, or copy all of it.</p>
<p>Nothing was changed.</p>`,
    { status: 404 },
  )
}
