// Custom domains as the API shows them.

import type { DomainRecord, Domain as DomainShape } from '@mailroom/contract/shapes/domain.ts'
import { presentTime } from '#platform/clock.ts'
import type { ShownDomain, ShownRecord } from './shown-domain.ts'

/** With what to publish, and what DNS had of it. */
export function presentDomain(shown: ShownDomain): DomainShape {
  const { id, domain, podId, status, records, createdAtMs, verifiedAtMs, lastCheckedAtMs } = shown
  return {
    id,
    domain,
    podId,
    status,
    records: records.map(presentRecord),
    createdAt: presentTime(createdAtMs),
    verifiedAt: verifiedAtMs === null ? null : presentTime(verifiedAtMs),
    lastCheckedAt: lastCheckedAtMs === null ? null : presentTime(lastCheckedAtMs),
  }
}

function presentRecord(record: ShownRecord): DomainRecord {
  const { type, name, value, priority, purpose, required, status, found, hint } = record
  return {
    type,
    name,
    value,
    ...(priority === null ? {} : { priority }),
    purpose,
    required,
    status,
    found,
    hint,
  }
}
