// Finds parts of a held message that its review page hides but its recipients may see.

import type { ReviewContent, ReviewDisplay } from '@mailroom/contract/reviews.ts'
import { countUnseen } from '@mailroom/mail/unseen.ts'
import { describeRemovals } from '@mailroom/mail-reading/view/removal.ts'
import type { Parser } from '#parser/parser.ts'

export async function readDisplay(
  { parser }: { parser: Parser },
  content: ReviewContent,
): Promise<ReviewDisplay> {
  const { bodyHtml: html } = content
  const source = { html, showsRemote: false, isStill: true, findsMissed: true }
  const shown = html === '' ? null : await parser.show(source)
  const missed = shown?.missed ?? null
  const isWhole = html === '' || (shown?.isWhole ?? false)
  const hidden = missed?.hidden ?? []
  return {
    isWhole,
    isHtmlWhole: isWhole,
    blockedImages: shown?.blockedCount ?? 0,
    blockedStyles: missed?.blockedStyles ?? 0,
    hidden: hidden.length === 0 ? null : describeRemovals(hidden),
    invisible: countUnseen(fieldsOf(content)) + (missed?.unseen ?? countUnseen(html)),
    unshown: missed?.unshown ?? 0,
  }
}

function fieldsOf(content: ReviewContent): string {
  const { from, to, cc, bcc, replyTo, subject, inReplyTo, bodyText, headers, attachments } = content
  const files = attachments.flatMap(({ filename, contentType }) => [filename, contentType])
  const fields = [from, ...to, ...cc, ...bcc, replyTo ?? '', subject, inReplyTo ?? '', bodyText]
  return [...fields, ...Object.entries(headers).flat(), ...files].join('\n')
}
