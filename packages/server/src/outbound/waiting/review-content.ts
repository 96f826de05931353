// The content that an approver approves, with its digest.

import { hash } from 'node:crypto'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import { composedFiles } from '@mailroom/mail/compose/compose-message.ts'
import { digestInSteps } from '#mailbox/messages/store/with-raw-bytes.ts'
import type { Composition } from '#outbound/send/compose-send.ts'
import type { ReviewedFile } from '#outbound/waiting/store/waiting-sends.ts'
import { canonicalJson } from '#platform/canonical-json.ts'
import { addressKey, bareAddress, type Names, withName } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import { DAY_MS } from '#platform/units.ts'
import type { NewHold } from '#reviews/store/pending-reviews.ts'

/** The content excludes Date, Message-ID and boundaries. See docs/reviews.md. */
export type ReviewContent = ReviewEnvelope & ReviewTexts

type ReviewTexts = {
  readonly subject: string
  readonly bodyText: string
  readonly bodyHtml: string
}

export type ReviewEnvelope = {
  readonly inboxId: string
  /** Every mailbox is `Name <address>`, or the address alone. */
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: string | null
  readonly threadId: string
  readonly inReplyTo: string | null
  readonly headers: { readonly [name: string]: string }
  readonly attachments: readonly ReviewedFile[]
  readonly sendAt: string | null
  readonly unsubscribe: boolean
  readonly isAutomatic: boolean
}

/** The recipients as the fields of the message name them. */
export function namedFields({
  to,
  cc,
  bcc,
  replyTo,
  names,
}: Pick<ReviewEnvelope, 'to' | 'cc' | 'bcc' | 'replyTo'> & { names: Names }) {
  const named = (address: string) => withName(names, address)
  return {
    to: to.map(named),
    cc: cc.map(named),
    bcc,
    replyTo: replyTo === null ? null : named(replyTo),
  }
}

/** Returns `v2:` and the hexadecimal SHA-256 of the canonical JSON (RFC 8785). */
export function digestOf(content: ReviewContent): string {
  return `v2:${hash('sha256', canonicalJson(content))}`
}

/** Returns the same value for messages that differ only in threads or the order of recipients. */
export function equalKeyOf({ threadId: _, inReplyTo: __, ...content }: ReviewContent): string {
  const { to, cc, bcc } = content
  const keyOf = (mailbox: string) => addressKey(bareAddress(mailbox))
  const [toKeys, ccKeys, bccKeys] = [to, cc, bcc].map((list) => list.map(keyOf).sort())
  return hash(
    'sha256',
    canonicalJson({ ...content, to: toKeys ?? [], cc: ccKeys ?? [], bcc: bccKeys ?? [] }),
  )
}

export function makeHold(
  deps: { makeId: MakeId; sending: { reviewDays: number } },
  {
    envelope,
    texts,
    reasons,
    findingHashes,
    nowMs,
  }: {
    envelope: ReviewEnvelope
    texts: ReviewTexts
    reasons: readonly HoldReason[]
    findingHashes: readonly string[]
    nowMs: number
  },
): NewHold {
  const whole = { ...envelope, ...texts }
  return {
    reviewId: deps.makeId('hld'),
    reasons: [...reasons],
    findingHashes,
    digest: digestOf(whole),
    equalKey: equalKeyOf(whole),
    content: JSON.stringify(envelope),
    expiresAtMs: nowMs + deps.sending.reviewDays * DAY_MS,
    eventId: deps.makeId('evt'),
  }
}

export async function hashAttachments(outgoing: Composition['outgoing']): Promise<ReviewedFile[]> {
  const files: ReviewedFile[] = []
  for (const { content, ...file } of composedFiles(outgoing)) {
    files.push({ ...file, sha256: await hashFile(content) })
  }
  return files
}

export async function hashFile(content: Uint8Array): Promise<string> {
  return Buffer.from(await digestInSteps(content)).toString('hex')
}
