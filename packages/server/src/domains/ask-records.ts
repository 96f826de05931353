// Asking DNS what it has of a custom domain's records: all at once, and for a bounded time.

import { onAbort, raceAbort } from '#platform/abort.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type Answered, checkMxRecord, checkTextRecord } from './check-record.ts'
import type { DnsRecord } from './dns-records.ts'
import type { RecordCheck } from './domain.ts'

/** All questions of a check, asked at once; what is not answered then is not answered. */
export const DOMAIN_CHECK_MS_MAX = 10 * SECOND_MS

/** What DNS has of one record, or why nobody knows. */
export type AskedRecord =
  | { readonly kind: 'check'; readonly record: DnsRecord; readonly check: RecordCheck }
  | { readonly kind: 'fault'; readonly record: DnsRecord; readonly text: string }

/**
 * In the order of the records. What is not answered in DOMAIN_CHECK_MS_MAX or after an abort is a fault,
 * and is asked no longer.
 */
export async function askRecords(
  { resolver }: { resolver: Resolver },
  records: readonly DnsRecord[],
  signal?: AbortSignal,
): Promise<AskedRecord[]> {
  const ending = new AbortController()
  using _ = onAbort(signal, () => ending.abort())
  const timer = setTimeout(() => ending.abort(), DOMAIN_CHECK_MS_MAX)
  const options = { signal: ending.signal }
  const answerOf = async <Found>(asking: Promise<Answered<Found>>): Promise<Answered<Found>> => {
    const answer = await raceAbort(asking, options)
    if (answer !== null) return answer
    const seconds = DOMAIN_CHECK_MS_MAX / 1_000
    const text = signal?.aborted
      ? 'the service is shutting down'
      : `no answer within ${seconds} seconds`
    return { kind: 'fault', text }
  }
  try {
    const asked = records.map((record) =>
      record.type === 'MX'
        ? askRecord(record, answerOf(resolver.mx(record.name, options)), checkMxRecord)
        : askRecord(record, answerOf(resolver.txt(record.name, options)), checkTextRecord),
    )
    return await Promise.all(asked)
  } finally {
    clearTimeout(timer)
  }
}

async function askRecord<Found>(
  record: DnsRecord,
  answering: Promise<Answered<Found>>,
  check: (record: DnsRecord, found: readonly Found[]) => RecordCheck,
): Promise<AskedRecord> {
  const answer = await answering
  if (answer.kind === 'fault') return { kind: 'fault', record, text: answer.text }
  const found = answer.kind === 'found' ? answer.records : []
  return { kind: 'check', record, check: check(record, found) }
}
