// Printing the DNS records that the operator publishes for this service.

import { formatDnsTable, formatZone } from '#model/dns-records.ts'
import { openKeys } from '#open-keys.ts'
import { withStore } from './with-store.ts'

/** Top-level names that no public DNS serves (RFC 2606, RFC 6761). */
const RESERVED = /(^|\.)(localhost|test|example|invalid|local)$/

/** Works before the first start too: the keys that it makes are those that the service uses. */
export async function printDns({ zone }: { zone?: boolean }): Promise<void> {
  const { records, settings } = await withStore(
    async (store) => {
      const keys = await openKeys(store)
      return { records: await keys.records(), settings: store.settings }
    },
    { absent: 'make' },
  )
  process.stdout.write(zone === true ? formatZone(records) : formatDnsTable(records))
  const { inboxDomain, smtpHostname, delivery } = settings
  process.stderr.write(
    `\n${smtpHostname} also needs A or AAAA records; the PTR records of those addresses must name it.\n`,
  )
  if (delivery === 'relay') {
    process.stderr.write(
      `Mail leaves through the relay: add the include that its provider names to the SPF record of ${inboxDomain}.\n`,
    )
  }
  if (RESERVED.test(inboxDomain)) {
    process.stderr.write(
      `${inboxDomain} cannot be published: set MAILROOM_INBOX_DOMAIN to a domain of yours.\n`,
    )
  }
}
