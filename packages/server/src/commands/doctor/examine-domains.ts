// The custom domains of all accounts, as many as there is time for.

import type { Domain } from '#domains/domain.ts'
import { countEveryDomain, listEveryDomain } from '#domains/domain-rows.ts'
import { systemClock } from '#platform/clock.ts'
import type { ReadDb } from '#schema/tables.ts'
import { checkCustomDomain } from './check-records.ts'
import { type Aim, type Finding, unknown, within } from './finding.ts'
import type { Looks } from './looks.ts'

/** After it no other domain is begun with. */
export const DOMAINS_MS_MAX = 25_000
const DOMAINS_AT_ONCE = 20
const STEP = 100
/** Of those that were not looked at. */
const NAMES_TOLD_MAX = 10

/** Those whose mail is here first. Takes `withinMs` and the time of one domain at most. */
export async function examineDomains(
  looks: Looks,
  db: ReadDb,
  { isDnsThere, withinMs }: { isDnsThere: boolean; withinMs: number },
): Promise<Finding[]> {
  const count = await countEveryDomain(db)
  const aim: Aim = { check: 'custom domains', expected: 'their records' }
  if (count === 0) return []
  if (!isDnsThere) return [unknown(aim, 'DNS does not answer')]
  const endMs = systemClock.monotonic() + withinMs
  const findings: Finding[][] = []
  const domains = everyDomain(db)
  const work = async () => {
    while (systemClock.monotonic() < endMs) {
      const next = await domains.next()
      if (next.done === true) return
      const domain = next.value
      const at = findings.push([]) - 1
      const ofDomain: Aim = { check: `domain ${domain.domain}`, expected: 'its records' }
      findings[at] = await within(ofDomain, (signal) =>
        checkCustomDomain(looks, db, domain, signal),
      )
    }
  }
  await Promise.all(Array.from({ length: DOMAINS_AT_ONCE }, work))
  const looked = findings.length
  if (looked >= count) return findings.flat()
  const left = await listEveryDomain(db, { limit: NAMES_TOLD_MAX, offset: looked })
  const names = left.map(({ domain }) => domain).join(', ')
  const more = count - looked - left.length
  const found = `${count - looked} of ${count} were not checked, for lack of time: ${names}${more > 0 ? ` and ${more} more` : ''}`
  return [...findings.flat(), unknown(aim, found)]
}

async function* everyDomain(db: ReadDb): AsyncGenerator<Domain, void> {
  for (let offset = 0; ; offset += STEP) {
    const domains = await listEveryDomain(db, { limit: STEP, offset })
    yield* domains
    if (domains.length < STEP) return
  }
}
