// Debian's Postfix with local delivery to a maildir by its `virtual` agent. By default, Postfix
// syncs the queue file before the reply and the delivered file afterwards.

import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countFiles, idOf, makeEtc, startInNamespace, unpackDebian } from './debian-program.ts'
import { type PeerServer, untilAnswering } from './peer-server.ts'

const ACCOUNTS = ['postfix', 'postdrop', 'vmail']

/** Starts Postfix in `folder`, which must be on the measured disk. */
export async function startPostfix(folder: string, port: number): Promise<PeerServer> {
  const program = unpackDebian('postfix')
  const etc = makeEtc(join(folder, 'postfix-etc'), ACCOUNTS)
  const [spool, data, mail] = ['spool', 'data', 'mail'].map((name) => {
    const path = join(folder, `postfix-${name}`)
    mkdirSync(path, { recursive: true })
    return path
  }) as [string, string, string]
  chownSync(data, idOf(0), idOf(0))
  chownSync(mail, idOf(2), idOf(2))
  mkdirSync(join(etc, 'postfix'), { recursive: true })
  writeFileSync(join(etc, 'postfix/main.cf'), mainOf({ spool, data, mail }))
  writeFileSync(join(etc, 'postfix/master.cf'), masterOf(port))
  const server = startInNamespace({
    program,
    etc,
    command: ['/usr/sbin/postfix', '-c', '/etc/postfix', 'start-fg'],
  })
  await untilAnswering(port)
  return {
    name: `Postfix ${program.version}`,
    port,
    does: 'virtual(8) to a maildir; the answer follows the synced queue file',
    countDelivered: async () => countFiles(join(mail, 'bench/new')),
    stop: server.stop,
  }
}

function mainOf({ spool, data, mail }: { spool: string; data: string; mail: string }): string {
  return `compatibility_level = 3.6
queue_directory = ${spool}
data_directory = ${data}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
shlib_directory = /usr/lib/postfix
mail_owner = postfix
setgid_group = postdrop
myhostname = mx.mailroom.localhost
mydestination =
alias_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_peername_lookup = no
smtpd_client_connection_count_limit = 0
smtpd_client_connection_rate_limit = 0
smtpd_client_message_rate_limit = 0
virtual_mailbox_domains = mailroom.localhost
virtual_mailbox_base = ${mail}
virtual_mailbox_maps = static:bench/
virtual_uid_maps = static:${idOf(2)}
virtual_gid_maps = static:${idOf(2)}
virtual_mailbox_limit = 0
maillog_file = ${data}/mail.log
maillog_file_prefixes = /
`
}

function masterOf(port: number): string {
  return `127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`
}
