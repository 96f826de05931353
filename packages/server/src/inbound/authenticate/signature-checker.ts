// What becomes of the signatures of a message: those that can be checked go to the thread that does it,
// only so much at once, and of the others it is said why not.

import type { DkimResult, SignatureFields } from '@mailroom/mail/authentication.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { Log } from '#platform/log.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { SignatureResults } from './check-signatures.ts'
import { SIGNATURES_CHECKED_MAX } from './check-signatures.ts'
import type { FindKeys } from './signature-keys.ts'
import { SignatureThread } from './signature-thread.ts'

/** Octets of messages in that thread at once, those of one message aside; further ones wait. */
const SIGNATURE_BYTES_AT_ONCE = 64 * 1024 * 1024
/** Messages up to this have such a share of their own, so that large ones do not keep them waiting. */
const SIGNATURE_SMALL_BYTES_MAX = 256 * 1024
/** A record that publishes a key, in characters; one with 4096 bits has 800. */
const SIGNATURE_KEY_LENGTH_MAX = 4 * 1024
/** Records under one name that are looked at. */
const SIGNATURE_KEY_RECORDS_MAX = 10

/** What is said of mail without signatures. */
export const UNSIGNED: SignatureResults = { dkim: [], arc: 'none', outgrown: [], signed: null }

export type Waiting = {
  readonly nowMs: number
  /** Left for the keys, and in all. */
  keysMs(): number
  allMs(): number
}

export class SignatureChecker {
  readonly #thread: SignatureThread
  /** A slot is an octet. */
  readonly #small = new Semaphore({ limit: SIGNATURE_BYTES_AT_ONCE })
  readonly #large = new Semaphore({ limit: SIGNATURE_BYTES_AT_ONCE })

  constructor({ resolver, log }: { resolver: Resolver; log: Log }) {
    this.#thread = new SignatureThread({ findKeys: (name) => findKeys(resolver, name), log })
  }

  /** Starts no work that is not awaited any more. */
  async check(
    raw: Uint8Array,
    fields: SignatureFields,
    { nowMs, keysMs, allMs }: Waiting,
  ): Promise<SignatureResults> {
    if (!fields.isCheckable) return allAlike(fields, 'policy')
    const semaphore = raw.length <= SIGNATURE_SMALL_BYTES_MAX ? this.#small : this.#large
    const outcome = await semaphore.run({ weight: raw.length }, async () => {
      const leftMs = allMs()
      if (leftMs <= 0) return 'ended'
      return this.#thread.check(raw, { nowMs, keysMs: keysMs(), allMs: leftMs })
    })
    if (outcome === 'threw') return allAlike(fields, 'permerror')
    if (outcome === 'stuck') return allAlike(fields, 'policy')
    return outcome === 'ended' ? allAlike(fields, 'temperror') : outcome
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

/** Whether there is anything to check. */
export function hasSignatures({ count, hasArc }: SignatureFields): boolean {
  return count > 0 || hasArc
}

/** What is said of signatures that were not looked at; those past SIGNATURES_CHECKED_MAX never would have been. */
export function allAlike(
  { signers, hasArc }: SignatureFields,
  result: 'policy' | 'permerror' | 'temperror',
): SignatureResults {
  const dkim: DkimResult[] = signers.map((signer, index) => ({
    result: index < SIGNATURES_CHECKED_MAX ? result : 'policy',
    ...signer,
  }))
  return { dkim, arc: hasArc ? result : 'none', outgrown: [], signed: null }
}

async function findKeys(resolver: Resolver, name: string): ReturnType<FindKeys> {
  const answer = await resolver.txt(name)
  switch (answer.kind) {
    case 'found': {
      const { ttlMs } = answer
      const records = answer.records
        .filter(({ length }) => length <= SIGNATURE_KEY_LENGTH_MAX)
        .slice(0, SIGNATURE_KEY_RECORDS_MAX)
      return records.length > 0 ? { kind: 'found', records, ttlMs } : { kind: 'large', ttlMs }
    }
    case 'none':
      return { kind: 'none', isNameMissing: answer.isNameMissing, ttlMs: answer.ttlMs }
    case 'fault':
      return { kind: 'fault', text: answer.text }
  }
}
