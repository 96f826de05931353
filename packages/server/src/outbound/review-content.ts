// What a person approves: all of a message that its recipients and its thread depend on, and its digest.

import { createHash } from 'node:crypto'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import { composedFiles } from '@mailroom/mail/compose/compose-message.ts'
import { digestInSteps } from '#mailbox/mailbox.ts'
import { canonicalJson } from '#platform/canonical-json.ts'
import type { MakeId } from '#platform/ids.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Composition } from './compose-send.ts'
import type { NewHold } from './waiting-send-rows.ts'

/** As docs/reviews.md describes it. Date, Message-ID and boundaries are not part of it. */
export type ReviewContent = ReviewEnvelope & {
  readonly subject: string
  readonly bodyText: string
  /** '' for none. */
  readonly bodyHtml: string
}

/** The part that the stored message does not have. */
export type ReviewEnvelope = {
  readonly inboxId: string
  /** `Name <address>`, or the bare address. */
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: string | null
  readonly threadId: string
  readonly inReplyTo: string | null
  /** Further header fields by name. */
  readonly headers: { readonly [name: string]: string }
  readonly attachments: readonly { filename: string; contentType: string; sha256: string }[]
}

/** SHA-256 in hexadecimal of the canonical JSON (RFC 8785). */
export function digestOf(content: ReviewContent): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex')
}

/** What an approver is asked about the message. */
export function makeHold(
  deps: { makeId: MakeId; sending: { reviewDays: number } },
  {
    envelope,
    texts,
    reasons,
    nowMs,
  }: {
    envelope: ReviewEnvelope
    texts: Omit<ReviewContent, keyof ReviewEnvelope>
    reasons: readonly HoldReason[]
    nowMs: number
  },
): NewHold {
  return {
    reviewId: deps.makeId('hld'),
    reasons: [...reasons],
    digest: digestOf({ ...envelope, ...texts }),
    content: JSON.stringify(envelope),
    expiresAtMs: nowMs + deps.sending.reviewDays * DAY_MS,
    eventId: deps.makeId('evt'),
  }
}

/** The files of a message that is composed, in the order of its parts. Nothing is read back from its octets. */
export async function hashAttachments(
  outgoing: Composition['outgoing'],
): Promise<ReviewEnvelope['attachments']> {
  const files: ReviewEnvelope['attachments'][number][] = []
  for (const { filename, contentType, content } of composedFiles(outgoing)) {
    files.push({ filename, contentType, sha256: await hashFile(content) })
  }
  return files
}

/** In hexadecimal. */
export async function hashFile(content: Uint8Array): Promise<string> {
  return Buffer.from(await digestInSteps(content)).toString('hex')
}
