// Signs mail with the keys of its domain. The service's own keys are generated on first use.

import { openSigner, type Signer } from '@mailroom/mail/dkim.ts'
import {
  type DkimKey,
  type DkimOwner,
  dkimKeyContext,
  FIRST_KEY,
  keyRow,
  type MakeKeyDeps,
  SECOND_KEY,
  SERVICE_OWNER,
  unsealKey,
} from '#domains/dkim/dkim-key.ts'
import { ensureDkimKeys, findActiveDkimKey, listDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { type DnsRecord, serviceDnsRecords } from '#domains/records/dns-records.ts'
import { Cache } from '#platform/cache.ts'
import { problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'

/** How long a process may use a key that another has retired; the key is still published. */
export const DKIM_KEY_REREAD_MS = 10 * SECOND_MS
const DKIM_SIGNERS_KEPT_MAX = 500

export type Signers = {
  /** May generate the service's own key. Throws `invalid_domain` if the domain was removed. */
  sign(owner: DkimOwner, raw: Uint8Array, nowMs: number): Promise<Uint8Array>
}

type Opened = { readonly keyId: string; readonly signer: Signer }
type Kept = { opened: Promise<Opened>; readonly readAtMs: number }

export function openSigners(deps: ServiceKeyDeps): Signers {
  const kept = new Cache<Kept>({ entriesMax: DKIM_SIGNERS_KEPT_MAX })

  const find = ({ ownerId, domain }: DkimOwner): Promise<Opened> => {
    const name = `${ownerId} ${domain}`
    const before = kept.get(name)
    const nowMs = deps.clock.monotonic()
    if (before !== null && nowMs - before.readAtMs < DKIM_KEY_REREAD_MS) return before.opened
    const opened = openActive(deps, { ownerId, domain }, before?.opened)
    const entry = { opened, readAtMs: nowMs }
    opened.catch(() => {
      if (kept.get(name) === entry) kept.delete(name)
    })
    kept.set(name, entry)
    return opened
  }
  return {
    sign: async (owner, raw, nowMs) => (await find(owner)).signer.sign(raw, nowMs),
  }
}

async function openActive(
  deps: ServiceKeyDeps,
  owner: DkimOwner,
  before: Promise<Opened> | undefined,
): Promise<Opened> {
  const known = await before?.catch(() => undefined)
  const key = await findOrMake(deps, owner)
  if (known?.keyId === key.id) return known
  const context = dkimKeyContext({ ...owner, selector: key.selector })
  const privateKey = unsealKey(deps.sealer, key.sealedKey, context)
  const signer = openSigner({ domain: owner.domain, selector: key.selector, privateKey })
  return { keyId: key.id, signer }
}

async function findOrMake(deps: ServiceKeyDeps, owner: DkimOwner) {
  const found = await findActiveDkimKey(deps.db, owner)
  if (found !== null) return found
  if (owner.ownerId === SERVICE_OWNER && owner.domain === deps.inboxDomain) {
    await ensureFirstKey(deps)
    const made = await findActiveDkimKey(deps.db, owner)
    if (made !== null) return made
  }
  throw problem('invalid_domain', `The domain ${owner.domain} does not exist any more.`)
}

export type ServiceKeyDeps = MakeKeyDeps & { inboxDomain: string }

export function serviceOwner({ inboxDomain }: { inboxDomain: string }): DkimOwner {
  return { ownerId: SERVICE_OWNER, domain: inboxDomain }
}

/** Concurrent processes agree on one key. */
async function ensureFirstKey(deps: ServiceKeyDeps): Promise<void> {
  const owner = serviceOwner(deps)
  const keys = await listDkimKeys(deps.db, owner)
  if (keys.some(({ state }) => state === 'active')) return
  const privateKey = await deps.makeDkimKey()
  const row = keyRow(deps, owner, { ...FIRST_KEY, privateKey })
  await deps.db.write(ensureDkimKeys, { rows: [row] })
}

/** Returns both keys of the service's own domain. Generating a missing key takes 15 to 500 ms. */
export async function ensureServiceKeys(deps: ServiceKeyDeps): Promise<DkimKey[]> {
  await ensureFirstKey(deps)
  const owner = serviceOwner(deps)
  const keys = await listDkimKeys(deps.db, owner)
  if (keys.length !== 1) return keys
  const privateKey = await deps.makeDkimKey()
  // The record is optional until the key signs.
  const row = keyRow(deps, owner, { ...SECOND_KEY, isRequired: false, privateKey })
  await deps.db.write(ensureDkimKeys, { rows: [row] })
  return listDkimKeys(deps.db, owner)
}

export async function listServiceRecords(
  deps: ServiceKeyDeps,
  { smtpHostname }: { smtpHostname: string },
): Promise<DnsRecord[]> {
  const keys = await ensureServiceKeys(deps)
  return serviceDnsRecords({ inboxDomain: deps.inboxDomain, smtpHostname, keys })
}
