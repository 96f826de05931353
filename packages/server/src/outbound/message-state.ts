// What a sent message's state is, from what became of its recipients.

import type { DeliveryStatus } from '@mailroom/contract/vocabulary.ts'

/** Of a message, over all its recipients, in characters. */
export const FAILURE_REASON_LENGTH_MAX = 2_000

export type RecipientState = {
  recipient: string
  status: DeliveryStatus
  responseCode: number | null
  enhancedCode: string | null
  response: string | null
}

export type MessageState = {
  status: 'pending' | 'sent' | 'failed'
  /** Set as soon as a recipient is refused, in the server's words. */
  failureReason: string | null
}

/**
 * `pending` until every recipient is settled, then `sent` when at least one was accepted by its
 * server, else `failed`. One that bounced later was accepted before, but counts no more.
 */
export function messageStateOf(recipients: readonly RecipientState[]): MessageState {
  const failureReason = reasonOf(recipients.filter(({ status }) => REFUSED.has(status)))
  if (recipients.some(({ status }) => status === 'queued' || status === 'deferred')) {
    return { status: 'pending', failureReason }
  }
  const isSent = recipients.some(({ status }) => !REFUSED.has(status))
  return { status: isSent ? 'sent' : 'failed', failureReason }
}

const REFUSED: ReadonlySet<DeliveryStatus> = new Set(['failed', 'unknown', 'bounced'])

function reasonOf(refused: readonly RecipientState[]): string | null {
  if (refused.length === 0) return null
  const text = refused
    .map(({ recipient, responseCode, enhancedCode, response }) => {
      const words = [responseCode, enhancedCode, response].filter((part) => part !== null)
      return `${recipient}: ${words.join(' ')}`
    })
    .join('; ')
  return text.length <= FAILURE_REASON_LENGTH_MAX
    ? text
    : `${text.slice(0, FAILURE_REASON_LENGTH_MAX - 1)}…`
}
