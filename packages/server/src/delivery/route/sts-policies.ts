// The MTA-STS policies of destinations, remembered for as long as they say (RFC 8461 §5.1). What
// cannot be had now never holds up mail for long, and never undoes a policy that still holds.

import { parseStsPolicy, readStsId, type StsPolicy } from '@mailroom/mail/mta-sts.ts'
import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { FetchPolicy } from './fetch-policy.ts'

/** The TXT lookup runs beside that of MX, and mail waits no longer for it. */
const STS_RECORD_WAIT_MS_MAX = 3 * SECOND_MS
/** RFC 8461 §3.3: how long a policy that could not be had is not asked for again. */
const STS_FAILURE_MS = 5 * MINUTE_MS
const STS_POLICIES_KEPT_MAX = 2_000

export type StsPolicies = {
  /** Null where there is none; takes STS_RECORD_WAIT_MS_MAX and a fetch at most, and never rejects. */
  find(destination: string): Promise<StsPolicy | null>
}

/** Starts out knowing none; `recordWaitMs` is STS_RECORD_WAIT_MS_MAX unless given. */
export function makeStsPolicies(options: {
  resolver: Resolver
  fetchPolicy: FetchPolicy
  clock: Clock
  recordWaitMs?: number | undefined
}): StsPolicies {
  const { resolver, fetchPolicy, clock } = options
  const bounds = { entriesMax: STS_POLICIES_KEPT_MAX, now: () => clock.monotonic() }
  const policies = new Cache<{ id: string; policy: StsPolicy }>(bounds)
  /** The id for which there was nothing to be had. */
  const failures = new Cache<string>(bounds)

  async function find(destination: string): Promise<StsPolicy | null> {
    const id = await findId(destination)
    const kept = policies.get(destination)
    if (id === null || kept?.id === id || failures.get(destination) === id) {
      return kept?.policy ?? null
    }
    const policy = await fetchAndParse(destination)
    if (policy === null) {
      failures.set(destination, id, { ttlMs: STS_FAILURE_MS })
      return kept?.policy ?? null
    }
    policies.set(destination, { id, policy }, { ttlMs: policy.maxAgeSeconds * 1000 })
    return policy
  }

  async function findId(destination: string): Promise<string | null> {
    const asking = resolver.txt(`_mta-sts.${destination}`)
    const timeoutMs = options.recordWaitMs ?? STS_RECORD_WAIT_MS_MAX
    const answer = await raceAbort(asking, { timeoutMs })
    return answer?.kind === 'found' ? readStsId(answer.records) : null
  }

  async function fetchAndParse(destination: string): Promise<StsPolicy | null> {
    try {
      const fetched = await fetchPolicy(destination)
      return fetched.kind === 'text' ? parseStsPolicy(fetched.text) : null
    } catch {
      return null
    }
  }

  return { find }
}
