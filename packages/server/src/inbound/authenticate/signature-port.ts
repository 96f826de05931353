// What the main thread and the thread that checks signatures say to each other.

import type { SignatureResults } from './check-signatures.ts'
import type { KeyAnswer } from './signature-keys.ts'

export type ThreadOptions = {
  /** One integer: the id of the message that was worked on last. */
  readonly atWork: SharedArrayBuffer
}

export type ToThread =
  | {
      readonly kind: 'check'
      readonly id: number
      readonly raw: Uint8Array
      readonly nowMs: number
    }
  /** No key of this message is waited for any longer. */
  | { readonly kind: 'keys-late'; readonly id: number }
  /** Nobody waits for this message any longer. */
  | { readonly kind: 'drop'; readonly id: number }
  | { readonly kind: 'look' }
  | { readonly kind: 'answer'; readonly name: string; readonly answer: KeyAnswer }

export type FromThread =
  /** Sent once, when the thread has loaded. */
  | { readonly kind: 'ready' }
  /** The answer to `look`. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'question'; readonly name: string }
  /** Null where the verifier threw, which is for the message to answer for. */
  | { readonly kind: 'checked'; readonly id: number; readonly results: SignatureResults | null }
