import type { ParsedHeaders } from '@mailroom/mail/mime/parsed-message.ts'

const PREFIX =
  /^(?:\[[^\]]{1,40}\]\s*)?(?:fwd?|wg|tr|rv|enc|res?env|i|doorst|vb|vl|vid|pd|ilt|i̇lt|İlt|ylet|fs|tov[aá]bb[ií]t[aá]s|továbbítva|továbbít|prp|προ?ωθ?|πρθ|пересл|пер|перен|нс|пп|prz|přep|posl|redir|fw\s?d|转发|转寄|轉寄|轉發|転送|전달|העבר[הת]?|הועבר|إعادة توجيه|تحويل|ส่งต่อ|chuyển tiếp|terusan|trs|edasi)\s{0,2}(?:\[\d{1,3}\])?\s{0,2}[:：]/iu
/** The prefix `VS:` means a reply in Finnish, and a forward in Danish and Norwegian. */
const AMBIGUOUS_PREFIX = /^vs\s{0,2}:/iu

export function isForward({ subject, inReplyTo }: ParsedHeaders): boolean {
  const text = subject.normalize('NFC').trim()
  return PREFIX.test(text) || (AMBIGUOUS_PREFIX.test(text) && inReplyTo.length === 0)
}
