// The hosts that take mail for a destination, in the order to try them (RFC 5321 §5.1, RFC 7505).
// Knows names only, no addresses.

import { isIP } from 'node:net'
import { isDomainName } from '@mailroom/mail/smtp/path.ts'
import type { Chance } from '#platform/chance.ts'
import type { MxRecord, Resolver } from '#platform/dns/resolver.ts'
import { type Deferral, type Refusal, refuse } from './route.ts'

export type HostList = {
  readonly kind: 'hosts'
  readonly hosts: readonly string[]
  /** RFC 7672 §2.2.1: hosts that a forger may have named need no further proof of anything. */
  readonly isAuthenticated: boolean
  readonly ttlMs: number
}

export type HostListing = HostList | (Refusal & { readonly ttlMs: number }) | Deferral

/** `destination` is a domain in lower-case A-labels. */
export async function listHosts(
  destination: string,
  { resolver, chance }: { resolver: Resolver; chance: Chance },
): Promise<HostListing> {
  const answer = await resolver.mx(destination)
  if (answer.kind === 'fault') return { kind: 'deferred', text: answer.text }
  if (answer.kind === 'none') {
    if (answer.isNameMissing) {
      const text = `the domain ${destination} does not exist`
      return { ...refuse(550, '5.1.2', text), ttlMs: answer.ttlMs }
    }
    // Whether it is authenticated is for the address answer of the same name to say.
    return { kind: 'hosts', hosts: [destination], isAuthenticated: true, ttlMs: answer.ttlMs }
  }
  const { records, isAuthenticated, ttlMs } = answer
  if (records.every(({ exchange }) => exchange === '.')) {
    return { ...refuse(556, '5.1.10', `the domain ${destination} accepts no mail`), ttlMs }
  }
  const hosts = [...new Set(sortByPreference(records, chance).map(({ exchange }) => exchange))]
  const usable = hosts.filter(isHostName)
  if (usable.length === 0) {
    const text = `the mail hosts of ${destination} have no valid names`
    return { ...refuse(550, '5.4.4', text), ttlMs }
  }
  return { kind: 'hosts', hosts: usable, isAuthenticated, ttlMs }
}

/** Whether `text` can be asked for: a name of A-labels, not an address. */
export function isHostName(text: string): boolean {
  return text.length <= 253 && /^[\x21-\x7e]+$/.test(text) && isIP(text) === 0 && isDomainName(text)
}

/** RFC 5321 §5.1: equal ones in a random order, to spread the load. */
function sortByPreference(records: readonly MxRecord[], chance: Chance): MxRecord[] {
  const bytes = Buffer.from(chance.bytes(records.length * 4))
  return records
    .map((record, index) => ({ record, rank: bytes.readUInt32BE(index * 4) }))
    .sort((a, b) => a.record.preference - b.record.preference || a.rank - b.rank)
    .map(({ record }) => record)
}
