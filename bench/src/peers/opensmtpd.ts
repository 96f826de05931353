// Debian's OpenSMTPD with local delivery to a maildir by its own agent; otherwise defaults.

import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countFiles, idOf, makeEtc, startInNamespace, unpackDebian } from './debian-program.ts'
import { type PeerServer, untilAnswering } from './peer-server.ts'

/** The first two accounts are built into OpenSMTPD. */
const ACCOUNTS = ['opensmtpd', 'opensmtpq', 'vmail']

/** Starts OpenSMTPD in `folder`, which must be on the measured disk. */
export async function startOpenSmtpd(folder: string, port: number): Promise<PeerServer> {
  const program = unpackDebian('opensmtpd')
  const etc = makeEtc(join(folder, 'opensmtpd-etc'), ACCOUNTS)
  const spool = join(folder, 'opensmtpd-spool')
  const mail = join(folder, 'opensmtpd-mail')
  const state = join(folder, 'opensmtpd-state')
  for (const path of [spool, mail, join(state, 'empty')]) mkdirSync(path, { recursive: true })
  chmodSync(spool, 0o711)
  chownSync(mail, idOf(2), idOf(2))
  writeFileSync(
    join(etc, 'smtpd.conf'),
    `table accounts { "bench@mailroom.localhost" = "vmail" }
listen on 127.0.0.1 port ${port} hostname mx.mailroom.localhost
action "keep" maildir "${mail}" virtual <accounts>
match from any for domain "mailroom.localhost" action "keep"
`,
  )
  chmodSync(join(etc, 'smtpd.conf'), 0o600)
  const server = startInNamespace({
    program,
    etc,
    places: { '/var/spool/smtpd': spool, '/var/lib/opensmtpd': state },
    command: ['/usr/sbin/smtpd', '-F', '-f', '/etc/smtpd.conf'],
  })
  await untilAnswering(port)
  return {
    name: `OpenSMTPD ${program.version}`,
    port,
    does: 'mail.maildir to a maildir; the answer follows the queue file',
    countDelivered: async () => countFiles(join(mail, 'new')),
    stop: server.stop,
  }
}
