// Making the keys of a domain. The private halves leave this file sealed.

import type { KeyObject } from 'node:crypto'
import { publicKeyOf } from '@mailroom/mail/dkim.ts'
import type { Chance } from '#platform/chance.ts'
import { LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Sealer } from '#platform/seal.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { NewRow } from '#schema/tables.ts'
import { DKIM_SELECTORS, type DkimKeyState, type DkimOwner, dkimKeyContext } from './dkim-key.ts'

/** Keys made at once, each with one of the four threads that also sign mail. */
export const DKIM_KEYS_MADE_AT_ONCE = 2

export type MakeKeyDeps = {
  makeDkimKey: () => Promise<KeyObject>
  sealer: Sealer
  makeId: MakeId
  clock: Clock
}

/** Of selectors: enough that accounts which want one domain do not publish their keys at one name. */
const SELECTOR_END_LENGTH = 6

/**
 * The two keys of a new domain, one to sign and one beside it; 15 to 500 ms each. Their selectors are its
 * own, and stay so when keys are replaced: a name in DNS may have one key only (RFC 6376 §3.6.2.2).
 */
export async function makeDomainKeys(
  deps: MakeKeyDeps & { chance: Chance },
  owner: DkimOwner,
): Promise<NewRow<'dkim_keys'>[]> {
  const [first, second] = await Promise.all([deps.makeDkimKey(), deps.makeDkimKey()])
  const end = randomText(deps.chance, LOWER_ALPHANUMERIC, SELECTOR_END_LENGTH)
  const own = (place: Place) => ({ ...place, selector: `${place.selector}-${end}` })
  return [
    keyRow(deps, owner, { ...own(FIRST_KEY), privateKey: first }),
    keyRow(deps, owner, { ...own(SECOND_KEY), privateKey: second }),
  ]
}

/** As `make`, but only DKIM_KEYS_MADE_AT_ONCE are made at once: mail is signed meanwhile. */
export function makeFewAtOnce(make: () => Promise<KeyObject>): () => Promise<KeyObject> {
  const semaphore = new Semaphore({ limit: DKIM_KEYS_MADE_AT_ONCE })
  return () => semaphore.run({}, make)
}

type Place = { selector: string; state: DkimKeyState; isRequired: boolean }

export const FIRST_KEY: Place = {
  selector: DKIM_SELECTORS.first,
  state: 'active',
  isRequired: true,
}
export const SECOND_KEY: Place = {
  selector: DKIM_SELECTORS.second,
  state: 'standby',
  isRequired: true,
}

/** The row of a key that was made or found; `active` from now on where it is so. */
export function keyRow(
  { sealer, makeId, clock }: Pick<MakeKeyDeps, 'sealer' | 'makeId' | 'clock'>,
  { ownerId, domain }: DkimOwner,
  { privateKey, selector, state, isRequired }: Place & { privateKey: KeyObject },
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
