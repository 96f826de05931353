import type { BodyFormat } from '@mailroom/contract/vocabulary.ts'
import type { MarkdownHtml } from '@mailroom/mail-reading/markdown/markdown-html.ts'
import type { BodySource } from '@mailroom/mail-reading/quote/body-parts.ts'
import type { Parser } from '#parser/parser.ts'
import { type AppError, problem } from '#platform/problem.ts'

type Written = {
  accountId: string
  body: string
  bodyHtml: string | null
  format: BodyFormat
  /** Markdown; null for none. */
  signature: string | null
  attachments: readonly { readonly contentId: string | null }[]
}

/** Throws `bad_request` for Markdown that is too complex. */
export async function ownBodies(
  { parser }: { parser: Parser },
  { accountId, format, signature, attachments, ...written }: Written,
): Promise<Omit<BodySource, 'quote'>> {
  const body = withLineFeeds(written.body)
  const bodyHtml = withLineFeeds(written.bodyHtml ?? '')
  const signed = (html: string) => (signature === null ? null : { text: signature, html })
  const isMarkdown = format === 'markdown'
  if (!isMarkdown && (signature === null || format === 'text')) {
    return { body, bodyHtml, format, signature: signed('') }
  }
  const contentIds = attachments.flatMap(({ contentId }) => contentId ?? [])
  const source = { body: isMarkdown ? body : null, signature, contentIds }
  const made = await parser.writeMarkdown(source, accountId)
  if (made?.kind !== 'html') throw tooComplex(made, signature)
  if (isMarkdown) {
    return { body, bodyHtml: made.body, format: 'text', signature: signed('') }
  }
  return { body, bodyHtml, format, signature: signed(made.signature) }
}

/** Throws `bad_request` for a signature that no message could be sent with. */
export async function checkSignature(
  { parser }: { parser: Parser },
  accountId: string,
  signature: string,
): Promise<void> {
  const source = { body: null, signature, contentIds: [] }
  const made = await parser.writeMarkdown(source, accountId)
  if (made?.kind === 'html') return
  const message = defectOf(made)
  throw problem('bad_request', `The field "signature" ${message}.`, {
    details: [{ path: 'signature', message }],
    fix: 'Simplify the signature, or write characters such as > and * with a backslash before them.',
  })
}

/** Refuses HTML that would compete with the HTML of the format. */
export function requireOneHtml(format: BodyFormat, bodyHtml: string | null): void {
  if (bodyHtml === null || format === 'auto') return
  const message = `cannot be used with the format ${format}`
  throw problem('bad_request', `The field "bodyHtml" ${message}.`, {
    details: [{ path: 'bodyHtml', message }],
    fix: FIXES[format],
  })
}

const FIXES = {
  text: 'Omit bodyHtml, or omit format to send body as the plain text and bodyHtml as the HTML.',
  html: 'Omit bodyHtml: body is the HTML. Or omit format, and give the plain text as body.',
  markdown: 'Omit bodyHtml: the HTML is made from body. Or omit format to send both as they are.',
}

type Unmade = Exclude<MarkdownHtml, { kind: 'html' }> | null

function tooComplex(made: Unmade, signature: string | null): AppError {
  const message = defectOf(made)
  const others = signature === null ? '' : ' with the signature of the inbox'
  return problem('bad_request', `The field "body"${others} ${message}.`, {
    details: [{ path: 'body', message }],
    fix: 'Simplify it, or send it with the format "text".',
  })
}

function defectOf(made: Unmade): string {
  return `is Markdown that ${made === null ? TOO_SLOW : DEFECTS[made.kind]}`
}

const TOO_SLOW = 'takes too long to convert'
const DEFECTS = {
  'too-slow': TOO_SLOW,
  'too-deep': 'is nested more than 50 levels deep',
  'too-large': 'becomes more than 500000 characters or 12000 elements of HTML',
}

/** Received bodies are stored with LF, but HTML forms always send CRLF. */
function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}
