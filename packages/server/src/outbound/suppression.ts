// A suppression: an address that an account no longer sends to, and why.

import type { SuppressionType } from '@mailroom/contract/vocabulary.ts'

export type { SuppressionType }

export type Suppression = {
  id: string
  address: string
  type: SuppressionType
  /** What was said when it came about, in somebody else's words. */
  reason: string | null
  createdAtMs: number
}
