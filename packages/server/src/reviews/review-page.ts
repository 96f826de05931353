// The pages of the links in the mail to approvers: plain HTML without scripts. Every text of the message is escaped,
// and its body is in a frame of its own, as the console shows it.

import { hash } from 'node:crypto'
import { escapeHtml } from '#http/answer.ts'
import type { BinaryResponse } from '#http/handler.ts'
import type { Message } from '#mailbox/mailbox-rows.ts'
import { presentTime } from '#platform/clock.ts'
import type { AppError } from '#platform/problem.ts'
import type { Review } from './review-rows.ts'

/** `urlOf` makes the address of a file by its name. */
export function reviewPage(
  review: Review,
  message: Message,
  { token, urlOf }: { token: string; urlOf: (filename: string) => string },
): BinaryResponse {
  const { content, reasons, expiresAtMs, digest } = review
  const fields: [string, string][] = [
    ['From', content.from],
    ['To', content.to.join(', ')],
    ['Cc', content.cc.join(', ')],
    ['Bcc', content.bcc.join(', ')],
    ['Reply-To', content.replyTo ?? ''],
    ['Subject', message.subject],
    ...Object.entries(content.headers),
  ]
  const rows = fields
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${shown(value)}</dd>`)
  const files = content.attachments.map(({ filename, contentType, sha256 }) => {
    const link = `<a href="${escapeHtml(urlOf(filename))}" rel="noreferrer">${shown(filename)}</a>`
    return `<dt>File</dt><dd>${link} (${shown(contentType)}, SHA-256 ${sha256})</dd>`
  })
  const why = reasons.map(({ detail, recipient }) => {
    return `<li>${shown(recipient === undefined ? detail : `${detail} (${recipient})`)}</li>`
  })
  const form = (verb: string, label: string) =>
    `<form method="post" action="/reviews/${token}/${verb}"><button type="submit">${label}</button></form>`
  return page(
    200,
    'May this message be sent?',
    `<p>A program wants to send this message, and the policy of the account wants a person to decide. Nobody else wrote it: read it as if you had to sign it.</p>
<h2>Why it is held</h2>
<ul>${why.join('')}</ul>
<h2>What will be sent</h2>
<dl>${rows.join('')}${files.join('')}</dl>
<iframe sandbox src="/reviews/${token}/body" title="The body of the message"></iframe>
<div class="forms">${form('approve', 'Approve and send')} ${form('reject', 'Reject')}</div>
<p class="small">If nobody decides by ${presentTime(expiresAtMs)}, it is not sent. Digest: ${escapeHtml(digest)}</p>`,
  )
}

const OUTCOMES = {
  pending: 'It still waits for a decision.',
  approved: 'It was approved.',
  rejected: 'It was rejected and is not sent.',
  expired: 'Nobody decided in time, and it is not sent.',
} as const

/** `isByThis`: this request decided, and not another one before. */
export function decidedPage(
  { status }: Review,
  { isByThis }: { isByThis: boolean },
): BinaryResponse {
  const title = isByThis ? 'Done' : 'This message is decided already'
  return page(200, title, `<p>${OUTCOMES[status]}</p>\n<p>You can close this page.</p>`)
}

/** The review is still pending. */
export function refusedPage({ message }: AppError): BinaryResponse {
  return page(
    409,
    'The message cannot be sent now',
    `<p>${shown(message)}</p>\n<p>Nothing was changed: you can approve it later with the same link.</p>`,
  )
}

export function unknownPage(): BinaryResponse {
  return page(
    404,
    'This link does not work',
    `<p>It may have been cut off on the way, or the message is gone. Open it once more from your mail, or copy all of it.</p>
<p>Nothing was changed.</p>`,
  )
}

/** Characters that change the direction of writing, or that nobody sees, are shown by their numbers. */
const UNSEEN = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu

function shown(text: string): string {
  const visible = text.replace(UNSEEN, (one) => {
    return `[U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`
  })
  return escapeHtml(visible)
}

const style = `
:root { color-scheme: light dark }
body { margin: 6vh auto 4rem; max-width: 46rem; padding: 0 1.25rem; font: 1.05rem/1.6 system-ui, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { font-size: 1.15rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { font-weight: 600 }
dd { margin: 0 } dd, li { overflow-wrap: anywhere; white-space: pre-wrap }
iframe { width: 100%; height: 24rem; border: 1px solid; border-radius: 6px; background: #fff }
.forms { display: flex; gap: 1rem; flex-wrap: wrap } .small { font-size: .85rem; overflow-wrap: anywhere }
button { font: inherit; padding: .6rem 1.4rem; border: 1px solid; border-radius: 6px; cursor: pointer }
`

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // The page's URL is a secret of the approver.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
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
