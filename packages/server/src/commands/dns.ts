// DNS records and DKIM keys for the operator. A running service applies changes within seconds.

import { readDomainName } from '@mailroom/mail/address.ts'
import { isReservedDomain } from '#commands/doctor/check-dns.ts'
import {
  DKIM_RETIRING_MS,
  type DkimKey,
  type DkimOwner,
  dkimKeyName,
  dkimKeyRecord,
  type KeyRotation,
  rotateKey,
  SERVICE_OWNER,
  settledAt,
} from '#domains/dkim/dkim.ts'
import { listAllDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { formatDnsTable, formatZone } from '#domains/records/records.ts'
import {
  DKIM_KEY_REREAD_MS,
  ensureServiceKeys,
  listServiceRecords,
  serviceOwner,
} from '#domains/signing/signing.ts'
import { findServedDomain } from '#domains/store/domains.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { CommandFailure, formatTable, plainText } from './command.ts'
import { type CommandStore, withKeys, withStore } from './with-store.ts'

/** The keys of the inbox domain are created by the first sent mail or by `dns`. */
export async function listDkimCommand(): Promise<void> {
  const keys = await withStore(({ db }) => listAllDkimKeys(db))
  const rows = keys.map((key) => [
    key.domain,
    key.selector,
    key.state,
    timeText(key.publishedAtMs),
    timeText(key.activatedAtMs),
    key.ownerId,
  ])
  const head = ['Domain', 'Selector', 'State', 'Published since', 'Signs since', 'Owner']
  process.stdout.write(formatTable([head, ...rows]))
  if (keys.length === 0) {
    process.stderr.write(
      'There are no keys yet. "mailroom admin dns" creates those of the inbox domain.\n',
    )
  }
}

/** The next key must have been in DNS for a day (with `now`: any time), or the command fails. */
export async function rotateDkimCommand(
  domain: string | undefined,
  { now: isUrgent = false }: { now?: boolean } = {},
): Promise<void> {
  await withStore(async (store) => {
    const name = domain === undefined ? undefined : (readDomainName(domain) ?? domain)
    const owner = await findOwner(store, name)
    if (owner.ownerId === SERVICE_OWNER) await ensureServiceKeys(await withKeys(store))
    const resolver = openResolver({ servers: store.settings.dnsServers, chance: store.chance })
    try {
      describeRotation(owner, await rotateKey({ ...store, resolver }, owner, { isUrgent }))
    } finally {
      resolver.close()
    }
  })
}

/** If several accounts have the domain, the owner is the account that verified it. */
async function findOwner(store: CommandStore, domain: string | undefined): Promise<DkimOwner> {
  const own = serviceOwner(store.settings)
  if (domain === undefined || domain === own.domain) return own
  const keys = (await listAllDkimKeys(store.db)).filter((key) => key.domain === domain)
  const owners = [...new Set(keys.map(({ ownerId }) => ownerId))]
  const [first] = owners
  if (first === undefined) {
    throw new CommandFailure(
      `there are no keys for ${plainText(domain)}; "mailroom admin dkim list" lists all keys.`,
    )
  }
  if (owners.length === 1) return { ownerId: first, domain }
  const holder = await findServedDomain(store.db, domain)
  if (holder === null) {
    throw new CommandFailure(
      `${owners.length} accounts have ${plainText(domain)} and none has verified it yet.`,
    )
  }
  return { ownerId: holder.domainId, domain }
}

function describeRotation({ domain }: DkimOwner, rotation: KeyRotation): void {
  switch (rotation.kind) {
    case 'switched':
      process.stdout.write(describeSwitch(rotation))
      return
    case 'unpublished':
      throw new CommandFailure(describeUnpublished(rotation.standby))
    case 'settling':
      throw new CommandFailure(describeSettling(rotation))
    case 'fault':
      throw new CommandFailure(
        `the DNS query for ${dkimKeyName(rotation.standby)} failed (${plainText(rotation.text)}); nothing was changed. Try again later.`,
      )
    case 'retiring':
      throw new CommandFailure(
        `${domain} has no next key until ${endText(rotation.retiring)}. Until then ${rotation.retiring.selector} stays published for the mail it signed; the next key is created afterwards.`,
      )
    case 'none':
      throw new CommandFailure(
        `another process has just changed the keys of ${domain}; "mailroom admin dkim list" shows them.`,
      )
  }
}

function describeSwitch({ retired, active }: KeyRotation & { kind: 'switched' }): string {
  const seconds = DKIM_KEY_REREAD_MS / 1_000
  const settledAtMs = settledAt(active, active.activatedAtMs ?? 0)
  return [
    ...(settledAtMs === null ? [] : [describeRisk(active, settledAtMs)]),
    `Mail from ${active.domain} is now signed with ${active.selector}; running services switch within ${seconds} seconds.`,
    `Leave the record of ${dkimKeyName(retired)} in DNS until ${endText(retired)}: mail it signed is still on its way.`,
    `A running service then creates the next key for ${retired.selector}. Publish it in place of that record, ready for the next rotation: ${whereShown(retired)}.`,
    '',
  ].join('\n')
}

function describeUnpublished(standby: DkimKey): string {
  return [
    `DNS does not have the next key of ${standby.domain}; nothing was changed. Publish this TXT record, in place of any other at its name:`,
    `  ${dkimKeyName(standby)}`,
    `  ${dkimKeyRecord(standby)}`,
    'and run the command again once the name servers return it.',
  ].join('\n')
}

function describeSettling({ standby, settledAtMs }: KeyRotation & { kind: 'settling' }): string {
  const name = dkimKeyName(standby)
  return [
    `DNS has had the next key of ${standby.domain} for less than a day; nothing was changed.`,
    `Receivers that cached the old record of ${name} would reject mail signed with the new key.`,
    `Run the command again after ${timeText(settledAtMs)}; a running service rotates on its own only on schedule.`,
    '--now switches at once, for a key that may be stolen. Until then some receivers may reject the mail.',
  ].join('\n')
}

function describeRisk(active: DkimKey, settledAtMs: number): string {
  return `Until ${timeText(settledAtMs)}, receivers that cached the old record of ${dkimKeyName(active)} may treat mail from here as spam or reject it.`
}

function whereShown({ ownerId }: DkimKey): string {
  return ownerId === SERVICE_OWNER
    ? '"mailroom admin dns" prints it'
    : `GET /v1/domains/${ownerId} shows it to its account`
}

function endText({ retiredAtMs }: DkimKey): string {
  return timeText(retiredAtMs === null ? null : retiredAtMs + DKIM_RETIRING_MS)
}

function timeText(timeMs: number | null): string {
  return timeMs === null ? '-' : new Date(timeMs).toISOString()
}

/** Before the first start, this command creates the keys that the service will use. */
export async function printDns({ zone }: { zone?: boolean }): Promise<void> {
  const { records, settings } = await withStore(
    async (store) => ({
      records: await listServiceRecords(await withKeys(store), store.settings),
      settings: store.settings,
    }),
    { absent: 'make' },
  )
  const table = () => formatDnsTable(records).split('\n').map(plainText).join('\n')
  process.stdout.write(zone === true ? formatZone(records) : table())
  const { inboxDomain, smtpHostname, delivery } = settings
  process.stderr.write(
    `\n${smtpHostname} also needs A or AAAA records; the PTR records of those addresses must name it.\n`,
  )
  if (delivery === 'relay') {
    process.stderr.write(
      `Mail leaves through the relay: add the include that its provider names to the SPF record of ${inboxDomain}.\n`,
    )
  }
  if (isReservedDomain(inboxDomain)) {
    process.stderr.write(
      `${inboxDomain} is a reserved name that only your own DNS servers can resolve. To exchange mail with the Internet, set MAILROOM_INBOX_DOMAIN to a domain you own.\n`,
    )
  }
}
