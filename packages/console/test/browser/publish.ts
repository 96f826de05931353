// Publishes in DNS the records that a domain needs.

import type { Domain } from '@mailroom/sdk'
import type { Dns } from '@mailroom/server/test/peers/dns.ts'

/** RFC 1035 §3.3: the longest string of a TXT record. */
const STRING_OCTETS_MAX = 255

/** Existing records of the same names are replaced. */
export function publish(dns: Dns, { records }: Domain): void {
  for (const name of new Set(records.map((record) => record.name))) {
    const own = records.filter((record) => record.name === name)
    dns.zone[name] = {
      MX: own
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ exchange: value, preference: priority ?? 0 })),
      TXT: own.filter(({ type }) => type === 'TXT').map(({ value }) => inStrings(value)),
    }
  }
}

function inStrings(value: string): string[] {
  const count = Math.ceil(value.length / STRING_OCTETS_MAX)
  return Array.from({ length: count }, (_, index) =>
    value.slice(index * STRING_OCTETS_MAX, (index + 1) * STRING_OCTETS_MAX),
  )
}
