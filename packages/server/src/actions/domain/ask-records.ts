// Asking DNS what it has of a custom domain's records: all at once, and for a bounded time.

import type { Deps } from '#actions/deps.ts'
import { DOMAIN_CHECK_MS_MAX } from '#base/limits.ts'
import { type Answered, checkMxRecord, checkTextRecord } from '#model/check-record.ts'
import type { DnsRecord } from '#model/dns-records.ts'
import type { RecordCheck } from '#model/domain.ts'

/** What DNS has of one record, or why nobody knows. */
export type AskedRecord =
  | { readonly kind: 'check'; readonly record: DnsRecord; readonly check: RecordCheck }
  | { readonly kind: 'fault'; readonly record: DnsRecord; readonly text: string }

/**
 * In the order of the records. What is not answered in DOMAIN_CHECK_MS_MAX or after an abort is a fault,
 * and is asked no longer.
 */
export async function askRecords(
  { resolver }: Pick<Deps, 'resolver'>,
  records: readonly DnsRecord[],
  signal?: AbortSignal,
): Promise<AskedRecord[]> {
  const bound = openBound(signal)
  const options = { signal: bound.signal }
  try {
    const asked = records.map((record) =>
      record.type === 'MX'
        ? askRecord(record, bound.within(resolver.mx(record.name, options)), checkMxRecord)
        : askRecord(record, bound.within(resolver.txt(record.name, options)), checkTextRecord),
    )
    return await Promise.all(asked)
  } finally {
    bound.close()
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

function openBound(signal: AbortSignal | undefined) {
  const late = Promise.withResolvers<{ kind: 'fault'; text: string }>()
  const ending = new AbortController()
  const seconds = DOMAIN_CHECK_MS_MAX / 1_000
  const end = (text: string) => {
    late.resolve({ kind: 'fault', text })
    ending.abort()
  }
  const timer = setTimeout(() => end(`no answer within ${seconds} seconds`), DOMAIN_CHECK_MS_MAX)
  const abort = () => end('the service is shutting down')
  if (signal?.aborted === true) abort()
  signal?.addEventListener('abort', abort)
  return {
    signal: ending.signal,
    within: <Value>(answer: Promise<Value>) => Promise.race([answer, late.promise]),
    close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    },
  }
}
