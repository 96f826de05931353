// Peers that speak the protocols of rspamd and clamd; a test decides what they answer.

import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

export type RspamdPeer = AsyncDisposable & {
  readonly url: string
  readonly asked: { headers: IncomingHttpHeaders; body: string }[]
  /** A status and a text, or `hang`. */
  answer: { status: number; text: string } | 'hang'
}

export async function openRspamd(): Promise<RspamdPeer> {
  const asked: RspamdPeer['asked'] = []
  const server = createHttpServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    asked.push({ headers: request.headers, body: Buffer.concat(parts).toString('latin1') })
    const isRight = request.method === 'POST' && request.url === '/checkv2'
    if (!isRight) response.writeHead(404).end()
    else if (peer.answer !== 'hang') response.writeHead(peer.answer.status).end(peer.answer.text)
  })
  const port = await listening(server)
  const peer: RspamdPeer = {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer: rspamdSays('no action', 0.1),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
  return peer
}

export function rspamdSays(action: string, score: number) {
  const symbols = { BAYES_HAM: { score: -3 }, BAD_LINK: { score: 4 }, FORGED: { score: 7.5 } }
  return { status: 200, text: JSON.stringify({ action, score, required_score: 15, symbols }) }
}

export type ClamdPeer = AsyncDisposable & {
  readonly url: string
  /** The messages that were streamed whole. */
  readonly scanned: string[]
  /** What it replies to a whole message; `early` before it has read one, `close` nothing. */
  reply: string | 'hang' | 'close'
  isEarly: boolean
}

export async function openClamd(): Promise<ClamdPeer> {
  const sockets = new Set<Socket>()
  const scanned: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const respond = () => {
      if (peer.reply === 'close') socket.destroy()
      else if (peer.reply !== 'hang') socket.end(peer.reply)
    }
    let bytes = Buffer.alloc(0)
    if (peer.isEarly) respond()
    socket.on('data', (part) => {
      bytes = Buffer.concat([bytes, part])
      const message = readStream(bytes)
      if (message === null || peer.isEarly) return
      scanned.push(message)
      respond()
    })
  })
  const port = await listening(server)
  const peer: ClamdPeer = {
    url: `tcp://127.0.0.1:${port}`,
    scanned,
    reply: 'stream: OK\0',
    isEarly: false,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return peer
}

/** The message of a whole INSTREAM command; null until it is whole. */
function readStream(bytes: Buffer): string | null {
  const command = 'zINSTREAM\0'
  if (bytes.length < command.length) return null
  if (bytes.toString('latin1', 0, command.length) !== command) throw new Error('not INSTREAM')
  const parts: Buffer[] = []
  for (let at = command.length; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (length === 0) return Buffer.concat(parts).toString('latin1')
    parts.push(bytes.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return null
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
