// Rotates DKIM keys. A key signs only once it is in DNS, so that recipients can always verify mail.

import { recordsHoldKey } from '@mailroom/mail/dkim.ts'
import {
  listDkimKeys,
  listDkimKeysDue,
  markPublished,
  replaceRetiredKey,
  switchDkimKeys,
} from '#domains/dkim/store/dkim-keys.ts'
import { ensureServiceKeys, type ServiceKeyDeps, serviceOwner } from '#domains/signing/signing.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { DAY_MS, SECOND_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'
import {
  type DkimKey,
  type DkimOwner,
  dkimKeyName,
  keyRow,
  publishedSince,
  SERVICE_OWNER,
} from './dkim-key.ts'

/** Mail may wait 48 hours here and at relays, and some recipients verify it when it is opened. */
export const DKIM_RETIRING_MS = 7 * DAY_MS
const DKIM_ROTATION_STEP = 100
const KEYS_AT_ONCE = 32
/** Limit for one DNS query of the hourly run. A slower domain is retried an hour later. */
const DKIM_QUERY_MS_MAX = 5 * SECOND_MS

type DueKeysDeps = RotateDeps & ServiceKeyDeps

type RotationSchedule = {
  /** If 0, keys are changed only by `mailroom admin dkim rotate`. */
  rotationDays: number
  /** Whether mail from the service's own domain leaves the machine and needs DNS records. */
  usesServiceKeys: boolean
}

const NAMES_LOGGED_MAX = 10

/** Several processes may run this at once; each step is then done by one of them. */
export async function rotateDueKeys(
  { resolver, ...others }: DueKeysDeps,
  schedule: RotationSchedule,
  signal: AbortSignal,
): Promise<void> {
  const deps = { ...others, resolver: boundedResolver(resolver, signal) }
  if (schedule.usesServiceKeys) await checkServiceKeys(deps)
  const retiredUntilMs = deps.clock.now() - DKIM_RETIRING_MS
  await forEachDue(deps, { state: 'retiring', untilMs: retiredUntilMs }, signal, (key) =>
    replaceRetired(deps, key),
  )
  if (schedule.rotationDays === 0) return
  // Keys are checked early, so that a record published in time has settled by the due time.
  const dueMs = deps.clock.now() - schedule.rotationDays * DAY_MS
  const overdue: string[] = []
  await forEachDue(
    deps,
    { state: 'active', untilMs: dueMs + DKIM_SETTLING_MS },
    signal,
    async (active) => {
      if (!isInUse(deps, schedule, active)) return
      const isDue = (active.activatedAtMs ?? 0) <= dueMs
      if ((await checkStandby(deps, { active, isDue })) === 'unpublished')
        overdue.push(active.domain)
    },
  )
  if (overdue.length === 0) return
  const fields = { domains: overdue.slice(0, NAMES_LOGGED_MAX), count: overdue.length }
  deps.log.warn(
    fields,
    'DKIM keys are due for rotation but the next ones are not in DNS; "mailroom admin dkim rotate <domain>" prints the record to publish',
  )
}

function boundedResolver(
  resolver: TxtResolverDeps['resolver'],
  closing: AbortSignal,
): TxtResolverDeps['resolver'] {
  return {
    async txt(name) {
      const late = AbortSignal.timeout(DKIM_QUERY_MS_MAX)
      const signal = AbortSignal.any([closing, late])
      const answer = await raceAbort(resolver.txt(name, { signal }), { signal })
      if (answer !== null) return answer
      const seconds = DKIM_QUERY_MS_MAX / 1_000
      return {
        kind: 'fault',
        text: late.aborted ? `no answer within ${seconds} seconds` : 'shutting down',
      }
    },
  }
}

/** A former inbox domain may still have keys. */
function isInUse(
  { inboxDomain }: { inboxDomain: string },
  { usesServiceKeys }: RotationSchedule,
  { ownerId, domain }: DkimKey,
): boolean {
  return ownerId !== SERVICE_OWNER || (usesServiceKeys && domain === inboxDomain)
}

async function checkServiceKeys(deps: DueKeysDeps): Promise<void> {
  const kept = await listDkimKeys(deps.db, serviceOwner(deps))
  // The first key is created with the first mail.
  if (kept.length === 0) return
  const keys = await ensureServiceKeys(deps)
  for (const key of keys.filter(({ publishedAtMs }) => publishedAtMs === null)) {
    await notePresence(deps, key, await findInDns(deps, key))
  }
}

async function checkStandby(
  deps: DueKeysDeps,
  { active, isDue }: { active: DkimKey; isDue: boolean },
): Promise<'unpublished' | null> {
  const keys = await listDkimKeys(deps.db, active)
  const standby = keys.find(({ state }) => state === 'standby')
  if (standby === undefined) return null
  const presence = await findInDns(deps, standby)
  await notePresence(deps, standby, presence)
  if (presence.kind === 'absent') return isDue ? 'unpublished' : null
  const isSettled = settledAt(standby, deps.clock.now()) === null
  if (presence.kind === 'fault' || !isDue || !isSettled) return null
  const { kind } = await switchKeys(deps, { active, standby })
  if (kind === 'switched') {
    const { domain, selector } = standby
    deps.log.info({ domain, selector, before: active.selector }, 'DKIM key rotated')
  }
  return null
}

async function replaceRetired(deps: DueKeysDeps, key: DkimKey): Promise<void> {
  const { domain, selector } = key
  const privateKey = await deps.makeDkimKey()
  const row = keyRow(deps, key, { selector, state: 'standby', isRequired: false, privateKey })
  if (!(await deps.db.write(replaceRetiredKey, { keyId: key.id, row }))) return
  deps.log.info({ domain, selector }, 'a DKIM key was retired; publish a new one in its place')
}

async function forEachDue(
  { db }: { db: Db },
  due: { state: 'active' | 'retiring'; untilMs: number },
  signal: AbortSignal,
  act: (key: DkimKey) => Promise<void>,
): Promise<void> {
  for (let afterId = ''; ; ) {
    const keys = await listDkimKeysDue(db, { ...due, afterId, limit: DKIM_ROTATION_STEP })
    const left = keys.values()
    const work = async () => {
      for (const key of left) if (!signal.aborted) await act(key)
    }
    await Promise.all(Array.from({ length: KEYS_AT_ONCE }, work))
    if (signal.aborted) return
    if (keys.length < DKIM_ROTATION_STEP) return
    afterId = keys.at(-1)?.id ?? ''
  }
}

/** Until then, slow name servers and caches may return the selector's former record. */
const DKIM_SETTLING_MS = DAY_MS

type RotateDeps = Store & TxtResolverDeps
type TxtResolverDeps = {
  resolver: {
    txt(name: string, options?: { signal?: AbortSignal }): ReturnType<Resolver['txt']>
  }
}

export type KeyRotation =
  | { readonly kind: 'switched'; readonly retired: DkimKey; readonly active: DkimKey }
  /** DNS has no record of the standby key, or a wrong one. The active key is not replaced. */
  | { readonly kind: 'unpublished'; readonly standby: DkimKey }
  /** DNS has the record, but caches may still have the former one. */
  | { readonly kind: 'settling'; readonly standby: DkimKey; readonly settledAtMs: number }
  | { readonly kind: 'fault'; readonly standby: DkimKey; readonly text: string }
  | { readonly kind: 'retiring'; readonly retiring: DkimKey }
  /** The domain has no keys, or another process has changed them. */
  | { readonly kind: 'none' }

/**
 * Activates the standby key if DNS has had its record for DKIM_SETTLING_MS, because caches keep the
 * former record of a reused selector. `isUrgent` skips the wait, for a compromised key.
 */
export async function rotateKey(
  deps: RotateDeps,
  owner: DkimOwner,
  { isUrgent = false }: { isUrgent?: boolean } = {},
): Promise<KeyRotation> {
  const keys = await listDkimKeys(deps.db, owner)
  const [active, standby, retiring] = (['active', 'standby', 'retiring'] as const).map((state) =>
    keys.find((key) => key.state === state),
  )
  if (active === undefined) return { kind: 'none' }
  if (standby === undefined) {
    return retiring === undefined ? { kind: 'none' } : { kind: 'retiring', retiring }
  }
  const seen = await findInDns(deps, standby)
  if (seen.kind === 'fault') return { kind: 'fault', standby, text: seen.text }
  await notePresence(deps, standby, seen)
  if (seen.kind === 'absent') return { kind: 'unpublished', standby }
  const settledAtMs = settledAt(standby, deps.clock.now())
  if (settledAtMs !== null && !isUrgent) return { kind: 'settling', standby, settledAtMs }
  return switchKeys(deps, { active, standby })
}

/** When a key that is in DNS now will be settled; null if it already is. */
export function settledAt(key: DkimKey, nowMs: number): number | null {
  const settledAtMs = (publishedSince(key, nowMs) ?? nowMs) + DKIM_SETTLING_MS
  return settledAtMs <= nowMs ? null : settledAtMs
}

/** Does not query DNS, because the caller has just found the standby key there. */
async function switchKeys(
  { db, clock }: Store,
  { active, standby }: { active: DkimKey; standby: DkimKey },
): Promise<KeyRotation> {
  const nowMs = clock.now()
  const ids = { activeId: active.id, standbyId: standby.id }
  if (!(await db.write(switchDkimKeys, { ...ids, nowMs }))) return { kind: 'none' }
  return {
    kind: 'switched',
    retired: { ...active, state: 'retiring', retiredAtMs: nowMs, isRequired: false },
    active: { ...standby, state: 'active', activatedAtMs: nowMs, isRequired: true },
  }
}

type DnsPresence =
  | { readonly kind: 'present' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fault'; readonly text: string }

/** Whether DNS currently has this key's record and no other for the same name. */
async function findInDns({ resolver }: TxtResolverDeps, key: DkimKey): Promise<DnsPresence> {
  const answer = await resolver.txt(dkimKeyName(key))
  if (answer.kind === 'fault') return answer
  const isPresent = answer.kind === 'found' && recordsHoldKey(answer.records, key.publicKey)
  return { kind: isPresent ? 'present' : 'absent' }
}

async function notePresence(
  { db, clock }: Store,
  key: DkimKey,
  { kind }: DnsPresence,
): Promise<void> {
  const keyIds = [key.id]
  const nowMs = clock.now()
  if (kind === 'present' && publishedSince(key, nowMs) === null) {
    await db.write(markPublished, { keyIds, nowMs })
  }
  if (kind === 'absent' && key.publishedAtMs !== null) {
    await db.write(markPublished, { keyIds, nowMs: null })
  }
}
