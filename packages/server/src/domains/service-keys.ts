// The keys of the inbox domain that the settings name. Nobody creates it, so its keys are made when
// they are first needed; one of an older version is taken over with its selector.

import { createPrivateKey } from 'node:crypto'
import type { Db } from '#schema/tables.ts'
import { findSecret } from '#secrets/service-secret-rows.ts'
import { type DkimKey, type DkimOwner, SERVICE_OWNER } from './dkim-key.ts'
import { ensureDkimKeys, listDkimKeys } from './dkim-key-rows.ts'
import { type DnsRecord, serviceDnsRecords } from './dns-records.ts'
import { FIRST_KEY, keyRow, type MakeKeyDeps, SECOND_KEY } from './domain-keys.ts'

export type ServiceKeyDeps = MakeKeyDeps & { db: Db; inboxDomain: string }

/** Of the inbox domain that the settings name now. */
export function serviceOwner({ inboxDomain }: { inboxDomain: string }): DkimOwner {
  return { ownerId: SERVICE_OWNER, domain: inboxDomain }
}

/**
 * Makes the key that signs for the inbox domain when there is none, and leaves the one beside it for
 * later. Of processes that do so at once all find one and the same. Writes nothing when it is there.
 */
export async function ensureFirstKey(deps: ServiceKeyDeps): Promise<void> {
  const owner = serviceOwner(deps)
  const keys = await listDkimKeys(deps.db, owner)
  if (keys.some(({ state }) => state === 'active')) return
  const privateKey = (await findOlderKey(deps)) ?? (await deps.makeDkimKey())
  const row = keyRow(deps, owner, { ...FIRST_KEY, privateKey })
  await deps.db.write(ensureDkimKeys, { rows: [row] })
}

/** Both keys of the inbox domain; makes what is absent, which takes 15 to 500 ms each. */
export async function ensureServiceKeys(deps: ServiceKeyDeps): Promise<DkimKey[]> {
  await ensureFirstKey(deps)
  const owner = serviceOwner(deps)
  const keys = await listDkimKeys(deps.db, owner)
  if (keys.length !== 1) return keys
  const privateKey = await deps.makeDkimKey()
  // Who publishes only the first is believed too, as with the versions that had only one.
  const row = keyRow(deps, owner, { ...SECOND_KEY, isRequired: false, privateKey })
  await deps.db.write(ensureDkimKeys, { rows: [row] })
  return listDkimKeys(deps.db, owner)
}

/** What to publish for the inbox domain; makes the keys that are absent. */
export async function listServiceRecords(
  deps: ServiceKeyDeps,
  { smtpHostname }: { smtpHostname: string },
): Promise<DnsRecord[]> {
  const keys = await ensureServiceKeys(deps)
  return serviceDnsRecords({ inboxDomain: deps.inboxDomain, smtpHostname, keys })
}

/** Where the one key lay before keys were rotated. */
export function olderKeyName(domain: string): string {
  return `dkim:${domain}`
}

async function findOlderKey({ db, sealer, inboxDomain }: ServiceKeyDeps) {
  const name = olderKeyName(inboxDomain)
  const sealed = await findSecret(db, name)
  if (sealed === null) return null
  const plain = sealer.open(sealed, name)
  if (plain === null) throw new Error(`the secret ${name} is not the one that was kept.`)
  return createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' })
}
