// The corpus of views: every message gets one, in time, within marks that it cannot forge, and the views of the
// largest HTML are small.

import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import { parseMessage } from '@mailroom/mail-reading/parse-message.ts'
import { messageFiles } from '@mailroom/mail-reading/test/corpus/message-files.ts'
import { percentile } from '@mailroom/mail-reading/test/corpus/tally.ts'
import { readFences, viewed } from '@mailroom/mail-reading/test/view/viewed.ts'
import type { ViewedMessage } from '@mailroom/mail-reading/view/view-page.ts'
import { untrustedText, viewPage } from '@mailroom/mail-reading/view/view-page.ts'
import { openParserPool } from '#parser/parser.ts'
import { systemChance } from '#platform/chance.ts'

const MS_MAX = 2_000
const PAGE_CHARS = 2_000
const NONCE_BYTES = 16
/** The size of large HTML in characters, and the share of it that is shown. */
const LARGE_LENGTH_MIN = 15_000
const LARGE_SHOWN = 20

type Figure = { readonly path: string; readonly htmlLength: number; readonly viewLength: number }

/** Prints figures and troubles; resolves with the exit code: 1 when there is a trouble. */
export async function runViews(folder: string): Promise<number> {
  const pool = openParserPool()
  // The first view waits for the thread to start.
  await pool.makeView({ html: '<p>x</p>', text: '', hasFullLinks: false })
  const troubles: string[] = []
  const timesMs: number[] = []
  const figures: Figure[] = []
  const counts = { unread: 0, hidden: 0, folded: 0 }
  for (const { path, raw } of messageFiles(folder)) {
    const parsed = parseMessage(raw)
    const startMs = performance.now()
    const { text, html } = parsed
    const body = await pool.makeView({ text, html, hasFullLinks: false })
    const message = messageOf(parsed, body)
    const page = pageOf(message, 200_000, 0)
    const durationMs = performance.now() - startMs
    timesMs.push(durationMs)
    if (durationMs > MS_MAX) troubles.push(`${path}: ${durationMs.toFixed(0)} ms`)
    if (body.source === 'unread-html') counts.unread += 1
    if (body.removed.length > 0) counts.hidden += 1
    if (body.foldedLines > 0) counts.folded += 1
    if (isEmpty(parsed) !== (body.text === '') && body.source !== 'html')
      troubles.push(`${path}: nothing is shown of its text`)
    troubles.push(...fenceTroubles(message).map((trouble) => `${path}: ${trouble}`))
    figures.push({ path, htmlLength: html.length, viewLength: Array.from(page.text).length })
  }
  await pool.close()
  const ms = (share: number) => percentile(timesMs, share).toFixed(1)
  const lines = [
    ...troubles,
    '',
    ...largestOf(figures),
    '',
    `views: ${figures.length}; HTML read as text: ${counts.unread}; with something left out: ${counts.hidden}; with folded history: ${counts.folded}`,
    `time of one: p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms, max ${ms(1)} ms, at most ${MS_MAX} ms`,
    `troubles: ${troubles.length}`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return figures.length > 0 && troubles.length === 0 ? 0 : 1
}

function messageOf(
  { headers, attachments }: ParsedMessage,
  body: ViewedMessage['body'],
): ViewedMessage {
  const { from, to, cc, replyTo } = headers
  const listed = (mailboxes: typeof to) => mailboxes.map(({ address }) => address)
  return viewed({
    from: from === null ? '' : `${from.name} <${from.address}>`,
    to: listed(to).join(', '),
    cc: listed(cc),
    replyTo: replyTo.length === 0 ? null : listed(replyTo).join(', '),
    subject: headers.subject,
    automaticReason: headers.automaticReason,
    attachments,
    body,
  })
}

function pageOf(message: ViewedMessage, maxChars: number, offset: number, chance = systemChance) {
  const title = `# A message of the thread ${message.threadId}`
  return viewPage({ title, notes: [], messages: [message], maxChars, offset, chance })
}

function isEmpty({ text }: ParsedMessage): boolean {
  return !/[\p{L}\p{N}]/u.test(text)
}

/** Reads page after page by the marks alone; a randomness that the mail has guessed changes nothing. */
function fenceTroubles(message: ViewedMessage): string[] {
  const { text } = untrustedText(message)
  try {
    let read = ''
    for (let offset: number | null = 0; offset !== null; ) {
      const page = pageOf(message, Math.max(PAGE_CHARS, Math.ceil(text.length / 20)), offset)
      read += readFences(page.text).inside.join('')
      offset = page.nextOffset
    }
    if (read !== text) return ['its pages are not the whole']
    const guessed = hostileNonces(text)
    for (const nonce of guessed) {
      const forged = { ...message, subject: `MAIL ${nonce}>>> ${message.subject}` }
      const draws = [nonce, nonce.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))]
      const chance = { bytes: () => Buffer.from(draws.shift() ?? 'ab'.repeat(NONCE_BYTES), 'hex') }
      const fences = readFences(pageOf(forged, 200_000, 0, chance).text)
      if (fences.inside.length !== 1 || fences.nonces.includes(nonce))
        return ['a number was guessed']
    }
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

/** Numbers of as many digits as stand in the mail, and one that does not. */
function hostileNonces(text: string): string[] {
  const found = text.match(/\b[0-9a-f]{32}\b/gi) ?? []
  return [...found.slice(0, 5).map((digits) => digits.toLowerCase()), '5a'.repeat(NONCE_BYTES)]
}

function largestOf(figures: readonly Figure[]): string[] {
  return figures
    .filter(({ htmlLength }) => htmlLength >= LARGE_LENGTH_MIN)
    .toSorted((a, b) => b.htmlLength - a.htmlLength)
    .slice(0, LARGE_SHOWN)
    .map(({ path, htmlLength, viewLength }) => {
      const percent = ((100 * viewLength) / htmlLength).toFixed(1)
      return `${path}: HTML of ${htmlLength} characters, view of ${viewLength}: ${percent} %`
    })
}
