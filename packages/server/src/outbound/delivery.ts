// A delivery: what has become of a message for one of its recipients.

import type { BounceClass, DeliveryStatus } from '@mailroom/contract/vocabulary.ts'

export type { BounceClass, DeliveryStatus }

export type Delivery = {
  id: string
  recipient: string
  status: DeliveryStatus
  attempts: number
  lastAttemptAtMs: number | null
  nextAttemptAtMs: number | null
  /** The server spoken to last. */
  host: string | null
  /** Protocol of the encryption of the last attempt; null in the clear. */
  tls: string | null
  responseCode: number | null
  enhancedCode: string | null
  response: string | null
  /** Why a report said that it could not be delivered; null unless it bounced. */
  bounceClass: BounceClass | null
}
