// Whether a message was sent by a program (RFC 3834 §2, §5 and what is used beside it), so that
// nobody answers it automatically. The envelope's null sender is for the caller to add.

import type { ParsedHeaders } from '#mime/parsed-message.ts'
import { firstField, type HeaderField } from './header-fields.ts'

type Reason = ParsedHeaders['automaticReason']

/** Rank: the plainest statement wins when several fields say it. */
const RANKS: readonly NonNullable<Reason>[] = [
  'auto-submitted',
  'precedence',
  'list',
  'auto-response-suppress',
]
const SYSTEM_LOCAL_PART =
  /^(?:mailer-?daemon|postmaster|no-?_?reply|do-?_?not-?_?reply|auto-?reply|bounces?)(?:[+=].*)?$/i

/** `fromAddress` is the bare address of the From field, null when there is none. */
export function automaticReason(
  fields: readonly HeaderField[],
  fromAddress: string | null,
): Reason {
  let best = RANKS.length
  for (const field of fields) {
    const reason = reasonOfField(field)
    if (reason !== null) best = Math.min(best, RANKS.indexOf(reason))
  }
  const named = RANKS[best]
  if (named !== undefined) return named
  return SYSTEM_LOCAL_PART.test(senderName(fields, fromAddress)) ? 'system-sender' : null
}

/** The local part; of `MAILER-DAEMON <>` and the like the word that stands for it. */
function senderName(fields: readonly HeaderField[], fromAddress: string | null): string {
  if (fromAddress === null) return firstField(fields, 'from')?.split(/[\s<]/, 1)[0] ?? ''
  const at = fromAddress.lastIndexOf('@')
  return at < 0 ? fromAddress : fromAddress.slice(0, at)
}

function reasonOfField({ name, value }: HeaderField): Reason {
  switch (name) {
    case 'auto-submitted':
      // RFC 3834 §5: a keyword, then optional parameters and comments.
      return /^(?:no)?\s*(?:[;(]|$)/i.test(value) ? null : 'auto-submitted'
    case 'x-autoreply':
    case 'x-autorespond':
    case 'x-autoresponder':
    case 'x-auto-reply':
    case 'auto-reply':
      return /^(?:no|false|0)?$/i.test(value) ? null : 'auto-submitted'
    case 'precedence':
    case 'x-precedence':
      return /^(?:bulk|junk|list|auto[_-]reply)\b/i.test(value) ? 'precedence' : null
    case 'list-id':
    case 'list-unsubscribe':
      return value === '' ? null : 'list'
    case 'x-auto-response-suppress':
      return /^(?:none)?$/i.test(value) ? null : 'auto-response-suppress'
    case 'content-type':
      // Delivery, disposition and feedback reports (RFC 6522): answering one makes loops.
      return /^multipart\/report\b/i.test(value) ? 'auto-submitted' : null
    default:
      return null
  }
}
