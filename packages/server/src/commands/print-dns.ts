// Printing the DNS records that the operator publishes for this service.

import { isReservedDomain } from '#commands/doctor/check-records.ts'
import { formatDnsTable, formatZone } from '#domains/dns-records.ts'
import { listServiceRecords } from '#domains/signers.ts'
import { plainText } from './plain-text.ts'
import { withKeys } from './with-keys.ts'
import { withStore } from './with-store.ts'

/** Works before the first start too: the keys that it makes are those that the service uses. */
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
