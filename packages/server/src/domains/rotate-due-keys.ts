// The rotation of keys by the calendar: a standby that DNS has takes over when its time has come, and a
// key that retired is replaced by a new standby.

import { raceAbort } from '#platform/abort.ts'
import type { Log } from '#platform/log.ts'
import { DAY_MS, SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import { type DkimKey, SERVICE_OWNER } from './dkim-key.ts'
import { listDkimKeys, listDkimKeysDue, replaceRetiredKey } from './dkim-key-rows.ts'
import { keyRow } from './domain-keys.ts'
import {
  DKIM_SETTLING_MS,
  type KeyLookDeps,
  lookForKey,
  noteSight,
  type RotateDeps,
  settledAt,
  switchKeys,
} from './rotate-key.ts'
import {
  ensureServiceKeys,
  olderKeyName,
  type ServiceKeyDeps,
  serviceOwner,
} from './service-keys.ts'

/**
 * How long a key stays published that signs no more: mail waits 48 hours here and as long at relays
 * behind us, is verified when it arrives, and by some when it is read.
 */
export const DKIM_RETIRING_MS = 7 * DAY_MS
/** Domains whose rotation is looked at by one query, and those whose DNS is asked at once. */
const DKIM_ROTATION_STEP = 100
const DKIM_LOOKS_AT_ONCE = 32
/** Of one look by the background: who is slower is looked at an hour later. */
const DKIM_LOOK_MS_MAX = 5 * SECOND_MS

export type DueKeysDeps = RotateDeps & ServiceKeyDeps & { log: Log }

export type RotationSchedule = {
  /** 0: keys change only when somebody asks. */
  rotationDays: number
  /** Whether the inbox domain's mail leaves the machine: its records matter to nobody otherwise. */
  usesServiceKeys: boolean
}

/** Domains named in a line of the log. */
const NAMES_TOLD_MAX = 10

/**
 * One look at all keys; several processes may do it at once, and each step is done by one of them.
 * Ends early once `signal` is aborted.
 */
export async function rotateDueKeys(
  given: DueKeysDeps,
  schedule: RotationSchedule,
  signal: AbortSignal,
): Promise<void> {
  const deps = { ...given, resolver: boundedResolver(given.resolver, signal) }
  if (schedule.usesServiceKeys) await tendServiceKeys(deps)
  const retiredUntilMs = deps.clock.now() - DKIM_RETIRING_MS
  await forEachDue(deps, { state: 'retiring', untilMs: retiredUntilMs }, signal, (key) =>
    replaceRetired(deps, key),
  )
  if (schedule.rotationDays === 0) return
  // A little ahead, so that records which were published in time are known to be settled then.
  const dueMs = deps.clock.now() - schedule.rotationDays * DAY_MS
  const overdue: string[] = []
  await forEachDue(
    deps,
    { state: 'active', untilMs: dueMs + DKIM_SETTLING_MS },
    signal,
    async (active) => {
      if (!isInUse(deps, schedule, active)) return
      const isDue = (active.activatedAtMs ?? 0) <= dueMs
      if ((await tendStandby(deps, { active, isDue })) === 'unpublished')
        overdue.push(active.domain)
    },
  )
  if (overdue.length === 0) return
  const fields = { domains: overdue.slice(0, NAMES_TOLD_MAX), count: overdue.length }
  deps.log.warn(
    fields,
    'DKIM keys are due for rotation but the next ones are not in DNS; "mailroom dkim rotate <domain>" prints the record to publish',
  )
}

/** Waits neither for a server that says nothing, nor, at a shutdown, for DNS at all. */
function boundedResolver(
  resolver: KeyLookDeps['resolver'],
  closing: AbortSignal,
): KeyLookDeps['resolver'] {
  return {
    async txt(name) {
      const late = AbortSignal.timeout(DKIM_LOOK_MS_MAX)
      const signal = AbortSignal.any([closing, late])
      const answer = await raceAbort(resolver.txt(name, { signal }), { signal })
      if (answer !== null) return answer
      const seconds = DKIM_LOOK_MS_MAX / 1_000
      return {
        kind: 'fault',
        text: late.aborted ? `no answer within ${seconds} seconds` : 'shutting down',
      }
    },
  }
}

/** An inbox domain of earlier settings signs nothing any more. */
function isInUse(
  { inboxDomain }: { inboxDomain: string },
  { usesServiceKeys }: RotationSchedule,
  { ownerId, domain }: DkimKey,
): boolean {
  return ownerId !== SERVICE_OWNER || (usesServiceKeys && domain === inboxDomain)
}

/** Those of custom domains are looked for with the other records of their domain. */
async function tendServiceKeys(deps: DueKeysDeps): Promise<void> {
  const kept = await listDkimKeys(deps.db, serviceOwner(deps))
  // The first is made with the first mail.
  if (kept.length === 0) return
  const keys = await ensureServiceKeys(deps)
  for (const key of keys.filter(({ publishedAtMs }) => publishedAtMs === null)) {
    await noteSight(deps, key, await lookForKey(deps, key))
  }
}

async function tendStandby(
  deps: DueKeysDeps,
  { active, isDue }: { active: DkimKey; isDue: boolean },
): Promise<'unpublished' | null> {
  const keys = await listDkimKeys(deps.db, active)
  const standby = keys.find(({ state }) => state === 'standby')
  if (standby === undefined) return null
  const sight = await lookForKey(deps, standby)
  await noteSight(deps, standby, sight)
  if (sight.kind === 'absent') return isDue ? 'unpublished' : null
  const isSettled = settledAt(standby, deps.clock.now()) === null
  if (sight.kind === 'fault' || !isDue || !isSettled) return null
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
  const secretName = key.ownerId === SERVICE_OWNER ? olderKeyName(domain) : null
  if (!(await deps.db.write(replaceRetiredKey, { keyId: key.id, row, secretName }))) return
  deps.log.info({ domain, selector }, 'a DKIM key was retired; publish a new one in its place')
}

/** Runs `act` for all keys that are due, some at once: a slow one holds up its own place only. */
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
    await Promise.all(Array.from({ length: DKIM_LOOKS_AT_ONCE }, work))
    if (signal.aborted) return
    if (keys.length < DKIM_ROTATION_STEP) return
    afterId = keys.at(-1)?.id ?? ''
  }
}
