// DKIM keys, and making the keys of a domain. This file seals private halves before it returns them.

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { formatKeyRecord, publicKeyOf } from '@mailroom/mail/dkim.ts'
import type { Chance } from '#platform/chance.ts'
import { LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import { CLOCK_SKEW_MS, type Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Sealer } from '#platform/seal.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { DkimKey, DkimKeyState } from '#schema/nouns.ts'
import type { NewRow } from '#schema/tables.ts'

export type { DkimKey, DkimKeyState }

/** Two accounts that have the same domain have different keys. */
export type DkimOwner = { readonly ownerId: string; readonly domain: string }

/** Owner of the keys of the inbox domain that the settings name. */
export const SERVICE_OWNER = 'service'

/**
 * One key signs while the other is published, so that they can be switched without a gap. The selectors of a
 * custom domain have a random suffix, so that two accounts with one domain never share a name in DNS.
 */
const DKIM_SELECTORS = { first: 'mr1', second: 'mr2' } as const

/** The name of its DNS record. */
export function dkimKeyName({ selector, domain }: Pick<DkimKey, 'selector' | 'domain'>): string {
  return `${selector}._domainkey.${domain}`
}

/** `v=DKIM1; …` */
export function dkimKeyRecord({ publicKey }: Pick<DkimKey, 'publicKey'>): string {
  return formatKeyRecord(publicKey)
}

/** The context with which its private half is sealed. */
export function dkimKeyContext({
  ownerId,
  domain,
  selector,
}: DkimOwner & Pick<DkimKey, 'selector'>): string {
  return `dkim:${ownerId}:${domain}:${selector}`
}

/** Each key is made by one of the four threads that also sign mail. */
export const DKIM_KEYS_MADE_AT_ONCE = 2

export type MakeKeyDeps = {
  makeDkimKey: () => Promise<KeyObject>
  sealer: Sealer
  makeId: MakeId
  clock: Clock
}

/** Enough that accounts with the same domain never get the same selector. */
const SELECTOR_SUFFIX_LENGTH = 6

/**
 * Makes the two keys of a new domain, active and standby; 15 to 500 ms each. Later keys get the same two selectors,
 * which no other domain has: a name in DNS may have one key only (RFC 6376 §3.6.2.2).
 */
export async function makeDomainKeys(
  deps: MakeKeyDeps & { chance: Chance },
  owner: DkimOwner,
): Promise<NewRow<'dkim_keys'>[]> {
  const [first, second] = await Promise.all([deps.makeDkimKey(), deps.makeDkimKey()])
  const suffix = randomText(deps.chance, LOWER_ALPHANUMERIC, SELECTOR_SUFFIX_LENGTH)
  const own = (place: KeyPlace) => ({ ...place, selector: `${place.selector}-${suffix}` })
  return [
    keyRow(deps, owner, { ...own(FIRST_KEY), privateKey: first }),
    keyRow(deps, owner, { ...own(SECOND_KEY), privateKey: second }),
  ]
}

/** As `make`, but at most DKIM_KEYS_MADE_AT_ONCE at a time, so that mail is still signed. */
export function makeFewAtOnce(make: () => Promise<KeyObject>): () => Promise<KeyObject> {
  const semaphore = new Semaphore({ limit: DKIM_KEYS_MADE_AT_ONCE })
  return () => semaphore.run({}, make)
}

type KeyPlace = { selector: string; state: DkimKeyState; isRequired: boolean }

export const FIRST_KEY: KeyPlace = {
  selector: DKIM_SELECTORS.first,
  state: 'active',
  isRequired: true,
}
export const SECOND_KEY: KeyPlace = {
  selector: DKIM_SELECTORS.second,
  state: 'standby',
  isRequired: true,
}

export function keyRow(
  { sealer, makeId, clock }: Pick<MakeKeyDeps, 'sealer' | 'makeId' | 'clock'>,
  { ownerId, domain }: DkimOwner,
  { privateKey, selector, state, isRequired }: KeyPlace & { privateKey: KeyObject },
): NewRow<'dkim_keys'> {
  const nowMs = clock.now()
  const context = dkimKeyContext({ ownerId, domain, selector })
  return {
    id: makeId('dkm'),
    owner_id: ownerId,
    domain,
    selector,
    state,
    sealed_key: sealer.seal(privateKey.export({ format: 'der', type: 'pkcs8' }), context),
    public_key: publicKeyOf(privateKey),
    is_required: isRequired ? 1 : 0,
    published_at: null,
    activated_at: state === 'active' ? nowMs : null,
    retired_at: null,
    created_at: nowMs,
  }
}

/** The private half of a key; throws if it was sealed with another key or context. */
export function unsealKey(sealer: Sealer, sealed: Uint8Array, context: string): KeyObject {
  const plain = sealer.open(sealed, context)
  if (plain === null)
    throw new Error(`the key ${context} cannot be unsealed with the current data key.`)
  return createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' })
}

/** Since when DNS has the key. A time in the future was written before the clock was set back: it is unknown. */
export function publishedSince({ publishedAtMs }: DkimKey, nowMs: number): number | null {
  return publishedAtMs !== null && publishedAtMs <= nowMs + CLOCK_SKEW_MS ? publishedAtMs : null
}
