// The pages behind links to reviews: plain HTML without scripts. All message text is escaped; its
// HTML is in a sandboxed frame.

import type { ReviewDisplay } from '@mailroom/contract/reviews.ts'
import { shownLine, shownText } from '@mailroom/mail/unseen.ts'
import { escapeHtml } from '#http/answer.ts'
import type { BinaryResponse } from '#http/handler.ts'
import { linkPage } from '#http/link-page.ts'
import type { Message } from '#mailbox/messages/store/messages.ts'
import { presentTime } from '#platform/clock.ts'
import type { AppError } from '#platform/problem.ts'
import type { Review } from '#reviews/store/reviews.ts'

type Shown = { review: Review; message: Message; display: ReviewDisplay }

export function reviewPage(
  { review, message, display }: Shown,
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
    ['In-Reply-To', content.inReplyTo ?? ''],
    ['Not before', message.scheduledAtMs === null ? '' : presentTime(message.scheduledAtMs)],
    ['Unsubscribe link', content.unsubscribe === true ? 'yes' : ''],
    ['Auto-Submitted', content.isAutomatic === true ? 'yes, a program sends it' : ''],
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
  return linkPage(
    'May this message be sent?',
    `<p>A program wrote this message, and the policy of the account requires a person to decide whether it is sent. Read it as if you had to sign it.</p>
<h2>Why it is held</h2>
<ul>${why.join('')}</ul>
<h2>What will be sent</h2>
<dl>${rows.join('')}${files.join('')}</dl>
${bodies(message, display, token)}
<div class="forms">${form('approve', 'Approve and send')} ${form('reject', 'Reject')}</div>
<p class="small">Without a decision by ${presentTime(expiresAtMs)}, it is not sent. Digest: ${escapeHtml(digest)}</p>`,
  )
}

/** Shows both bodies, because a recipient reads only one, and the source of hidden parts. */
function bodies({ bodyText, bodyHtml }: Message, display: ReviewDisplay, token: string): string {
  const text = `<pre tabindex="0" aria-label="The text">${shownLines(bodyText)}</pre>`
  const notices = noticesOf(display)
    .map((notice) => notice && `<p class="notice">${escapeHtml(notice)}</p>`)
    .join('\n')
  if (bodyHtml === '') return `${notices}${text}`
  const { isWhole, hidden, invisible, unshown } = display
  const isIncomplete = !isWhole || hidden !== null || invisible > 0 || unshown > 0
  return `${notices}
<h2>The HTML, which most recipients see</h2>
<iframe sandbox src="/reviews/${token}/body" title="The body of the message"></iframe>
<details${isIncomplete ? ' open' : ''}><summary>The source of the HTML</summary>
<pre tabindex="0" aria-label="The source of the HTML">${shownLines(bodyHtml)}</pre></details>
<h2>The text, which the other recipients see instead</h2>
${bodyText.trim() === '' ? '<p>It is empty.</p>' : text}`
}

function noticesOf(display: ReviewDisplay): string[] {
  const { isWhole, hidden, invisible, unshown, blockedImages, blockedStyles } = display
  return [
    isWhole ? '' : HTML_NOT_WHOLE,
    hidden === null ? '' : `The HTML contains text that readers cannot see: ${hidden}.`,
    invisible === 0
      ? ''
      : `The message has ${characters(invisible)} that readers cannot see. They are shown here as [U+…], but not within the page of the HTML.`,
    unshown === 0
      ? ''
      : `The HTML has ${characters(unshown)} that no page shows, such as comments and attributes. They are in its source.`,
    blockedImages === 0 ? '' : `Images from other hosts not shown here: ${blockedImages}.`,
    blockedStyles === 0
      ? ''
      : `Style sheets and fonts from other hosts not loaded here: ${blockedStyles}.`,
  ]
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`
}

const HTML_NOT_WHOLE =
  'The HTML cannot be shown, or not all of it: it is too large or too complex, has parts that pages leave out, such as forms and drawings, or has styles by which its recipients may see something else. Below is its source: do not approve what you have not read.'

const OUTCOMES = {
  pending: 'It is still waiting for a decision.',
  approved: 'It was approved.',
  rejected: 'It was rejected and will not be sent.',
  expired: 'It expired without a decision and will not be sent.',
} as const

/** `isByThis` is false if an earlier request decided. */
export function decidedPage(
  { status }: Review,
  { isByThis, status: httpStatus }: { isByThis: boolean; status?: number },
): BinaryResponse {
  const title = isByThis ? 'Done' : 'This message has already been decided'
  const body = `<p>${OUTCOMES[status]}</p>\n<p>You can close this page.</p>`
  return linkPage(title, body, { status: httpStatus })
}

/** The review is still pending with another digest. */
export function changedPage(): BinaryResponse {
  return linkPage(
    'The message has changed',
    `<p>This link is for an earlier version of the message, so it cannot decide about the current one.</p>
<p>Nothing was changed: it still waits. Read it in the console before you decide.</p>`,
    { status: 409 },
  )
}

/** The review is still pending. */
export function refusedPage({ message }: AppError): BinaryResponse {
  return linkPage(
    'The message cannot be sent now',
    `<p>${shown(message)}</p>\n<p>Nothing was changed: you can approve it later with the same link.</p>`,
    { status: 409 },
  )
}

function shown(text: string): string {
  return escapeHtml(shownLine(text))
}

function shownLines(text: string): string {
  return escapeHtml(shownText(text))
}
