// A receiving mail server for tests: a real socket on 127.0.0.1 that behaves well unless its script says otherwise,
// and keeps received messages. It uses none of the service's code.

import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { type Certificate, makeCertificate } from './certificate.ts'
import { MtaConnection, type MtaRecord } from './mta-connection.ts'
import type { MtaMessage, MtaScript } from './mta-script.ts'

export type { MtaAnswer, MtaMessage, MtaScript } from './mta-script.ts'

export type Mta = {
  readonly host: string
  readonly port: number
  /** Every message that got a 2xx reply, in the order of the replies. */
  readonly transactions: MtaMessage[]
  /** Every message that reached its final dot, whatever the reply. */
  readonly received: MtaMessage[]
  /** Command lines of all connections, unchanged. */
  readonly commands: { line: string; connection: number }[]
  readonly connections: { opened: number; open: number; maxOpen: number }
  /** Applies to later connections and commands. */
  script: MtaScript
  /** Resolves with the accepted messages once there are `count`. */
  waitFor(count: number): Promise<MtaMessage[]>
  /** Cuts all connections and stops listening. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Listens on a free port, or on `port`. */
export async function openMta(script: MtaScript = {}, port = 0, host = '127.0.0.1'): Promise<Mta> {
  const sockets = new Set<Socket>()
  const waiting: { count: number; resolve(messages: MtaMessage[]): void }[] = []
  const rcpts = new Map<string, number>()
  const { transactions, received, commands, connections } = emptyRecord()
  const record: MtaRecord = {
    get script() {
      return mta.script
    },
    onMessage(message, reply) {
      received.push(message)
      if (!reply.startsWith('2')) return
      transactions.push(message)
      for (const { count, resolve } of waiting) {
        if (transactions.length >= count) resolve(transactions)
      }
    },
    onCommand: (line, connection) => commands.push({ line, connection }),
    countRcpt(address) {
      const count = (rcpts.get(address) ?? 0) + 1
      rcpts.set(address, count)
      return count
    },
    countMessage: () => received.length + 1,
  }
  const server = createServer({ noDelay: true }, (socket) => {
    connections.opened += 1
    sockets.add(socket)
    connections.open = sockets.size
    connections.maxOpen = Math.max(connections.maxOpen, sockets.size)
    socket.on('close', () => {
      sockets.delete(socket)
      connections.open = sockets.size
    })
    new MtaConnection(record, socket, connections.opened)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  const mta: Mta = {
    host,
    port: (server.address() as AddressInfo).port,
    transactions,
    received,
    commands,
    connections,
    script,
    waitFor(count) {
      if (transactions.length >= count) return Promise.resolve(transactions)
      return new Promise((resolve) => waiting.push({ count, resolve }))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
  return mta
}

function emptyRecord(): Pick<Mta, 'transactions' | 'received' | 'commands' | 'connections'> {
  const connections = { opened: 0, open: 0, maxOpen: 0 }
  return { transactions: [], received: [], commands: [], connections }
}

let certificate: Promise<Certificate> | undefined

/** The certificate for `mailroom.localhost` that all tests of a process share. */
export function testCertificate(): Promise<Certificate> {
  certificate ??= makeCertificate('mailroom.localhost')
  return certificate
}

/** The value for `script.tls`: the test certificate, or `own`. */
export async function mtaTls(own?: Certificate): Promise<SecureContext> {
  const { certificatePem, privateKeyPem } = own ?? (await testCertificate())
  return createSecureContext({ cert: certificatePem, key: privateKeyPem })
}
