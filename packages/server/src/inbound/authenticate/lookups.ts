// Adapts the resolver to mailauth, and mailauth's results to RFC 8601.

import type { AuthenticationResult } from '@mailroom/mail/authentication.ts'
import type { Answer } from '#platform/dns/answer.ts'
import type { Resolver } from '#platform/dns/resolver.ts'

export type Lookups = {
  lookup(name: string, type: string): Promise<unknown[]>
  /** Returns the smallest TTL of all answers so far, or 0 after a fault. */
  ttlMs(): number
}

export function openLookups(resolver: Resolver): Lookups {
  let leastMs = Number.POSITIVE_INFINITY
  const read = <Record>(answer: Answer<Record>): Record[] => {
    leastMs = Math.min(leastMs, answer.kind === 'fault' ? 0 : answer.ttlMs)
    if (answer.kind === 'found') return answer.records
    throw lookupError(answer)
  }
  return {
    async lookup(name, type) {
      switch (type) {
        case 'TXT':
          return read(await resolver.txt(name)).map((text) => [text])
        case 'A':
          return read(await resolver.a(name))
        case 'AAAA':
          return read(await resolver.aaaa(name))
        case 'MX':
          return read(await resolver.mx(name)).map(({ exchange, preference }) => ({
            exchange,
            priority: preference,
          }))
        case 'PTR':
          return read(await resolver.ptr(name))
        default:
          // Lookups of other types have already followed aliases, so a CNAME lookup finds nothing.
          throw Object.assign(new Error(`${name} has no ${type}`), { code: 'ENODATA' })
      }
    },
    ttlMs: () => leastMs,
  }
}

export function lookupError(
  answer: { kind: 'none'; isNameMissing: boolean } | { kind: 'fault'; text: string },
): Error {
  if (answer.kind === 'fault') return Object.assign(new Error(answer.text), { code: 'ESERVFAIL' })
  const code = answer.isNameMissing ? 'ENOTFOUND' : 'ENODATA'
  return Object.assign(new Error('there is no such record'), { code })
}

const WORDS: ReadonlySet<string> = new Set<AuthenticationResult>([
  'none',
  'pass',
  'fail',
  'softfail',
  'neutral',
  'policy',
  'temperror',
  'permerror',
])

export function resultWord(word: string): AuthenticationResult {
  return WORDS.has(word) ? (word as AuthenticationResult) : 'permerror'
}
