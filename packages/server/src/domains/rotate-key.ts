// The step from one key of a domain to the next: only to a key that DNS has, so that whoever gets mail
// finds the key that signed it, before, during and after.

import { recordsHoldKey } from '@mailroom/mail/dkim.ts'
import type { Clock } from '#platform/clock.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import { type DkimKey, type DkimOwner, dkimKeyName } from './dkim-key.ts'
import { listDkimKeys, markPublished, switchDkimKeys } from './dkim-key-rows.ts'

/**
 * Between the first sight of a record and the first use of its key: caches and slow name servers may
 * give for as long what stood under the selector before.
 */
export const DKIM_SETTLING_MS = DAY_MS

export type RotateDeps = { db: Db; clock: Clock } & KeyLookDeps
export type KeyLookDeps = {
  resolver: {
    txt(name: string, options?: { signal?: AbortSignal }): ReturnType<Resolver['txt']>
  }
}

export type KeyRotation =
  | { readonly kind: 'switched'; readonly retired: DkimKey; readonly active: DkimKey }
  /** DNS has no record of the standby, or another one; the key that signs goes on. */
  | { readonly kind: 'unpublished'; readonly standby: DkimKey }
  /** DNS has it, but not for so long that nobody goes on with what stood under its name before. */
  | { readonly kind: 'settling'; readonly standby: DkimKey; readonly settledAtMs: number }
  /** DNS could not be asked, which says nothing of the record. */
  | { readonly kind: 'fault'; readonly standby: DkimKey; readonly text: string }
  /** The key that signed before is still published; until it ends there is no other to change to. */
  | { readonly kind: 'retiring'; readonly retiring: DkimKey }
  /** The domain has no keys, or another process changed them meanwhile. */
  | { readonly kind: 'none' }

/**
 * Changes the places of the two keys of a domain if DNS has the standby's record now and has had it for
 * DKIM_SETTLING_MS. Selectors are used again, and caches keep for a while what stood under one before:
 * `isUrgent` leaves them out of account, for a key that must not sign any more.
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
  const seen = await lookForKey(deps, standby)
  if (seen.kind === 'fault') return { kind: 'fault', standby, text: seen.text }
  await noteSight(deps, standby, seen)
  if (seen.kind === 'absent') return { kind: 'unpublished', standby }
  const settledAtMs = settledAt(standby, deps.clock.now())
  if (settledAtMs !== null && !isUrgent) return { kind: 'settling', standby, settledAtMs }
  return switchKeys(deps, { active, standby })
}

/** When a key that DNS has now will have been there for long enough; null when it has. */
export function settledAt({ publishedAtMs }: DkimKey, nowMs: number): number | null {
  // A time to come was written before the clock was set back.
  const isKnown = publishedAtMs !== null && publishedAtMs <= nowMs + CLOCK_SKEW_MS
  const settledAtMs = (isKnown ? publishedAtMs : nowMs) + DKIM_SETTLING_MS
  return settledAtMs <= nowMs ? null : settledAtMs
}

/** Without a look at DNS: for a standby that was seen there just now. */
export async function switchKeys(
  { db, clock }: { db: Db; clock: Clock },
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

export type KeySight =
  | { readonly kind: 'present' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fault'; readonly text: string }

/** Whether DNS has the record of this key now, and no other beside it. */
export async function lookForKey(
  { resolver }: KeyLookDeps,
  key: DkimKey,
  signal?: AbortSignal,
): Promise<KeySight> {
  const answer = await resolver.txt(dkimKeyName(key), signal === undefined ? {} : { signal })
  if (answer.kind === 'fault') return answer
  const isPresent = answer.kind === 'found' && recordsHoldKey(answer.records, key.publicKey)
  return { kind: isPresent ? 'present' : 'absent' }
}

/** Keeps since when DNS has a key, or that it has it no more. */
export async function noteSight(
  { db, clock }: { db: Db; clock: Clock },
  { id, publishedAtMs }: DkimKey,
  { kind }: KeySight,
): Promise<void> {
  const keyIds = [id]
  const nowMs = clock.now()
  const isNoted = publishedAtMs !== null && publishedAtMs <= nowMs + CLOCK_SKEW_MS
  if (kind === 'present' && !isNoted) await db.write(markPublished, { keyIds, nowMs })
  if (kind === 'absent' && publishedAtMs !== null) {
    await db.write(markPublished, { keyIds, nowMs: null })
  }
}
