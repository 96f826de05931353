// A minimal SMTP client for load generators, on a plain socket, command by command.

import { connect, type Socket } from 'node:net'

export type Peer = {
  /** Sends a command. Rejects if the reply has another code or the connection ends. */
  say(text: string, code: number): Promise<void>
  close(): void
}

/** A server with a full backlog drops connections that the client considers open. */
const GREETING_MS_MAX = 2_000

/** Resolves after the reply to EHLO. Rejects if no greeting arrives within two seconds. */
export async function openPeer(port: number): Promise<Peer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const replies = readReplies(socket)
  const say = async (text: string, code: number) => {
    socket.write(text)
    const got = await replies.next()
    if (got !== code) throw new Error(`Expected ${code}, got ${got}`)
  }
  const late = setTimeout(() => socket.destroy(), GREETING_MS_MAX)
  const greeting = await replies.next().finally(() => clearTimeout(late))
  if (greeting !== 220) throw new Error('No greeting')
  await say('EHLO sender.example\r\n', 250)
  return { say, close: () => socket.destroy() }
}

function readReplies(socket: Socket): { next(): Promise<number> } {
  let text = ''
  let waiter: { resolve(code: number): void; reject(error: Error): void } | null = null
  const ready: number[] = []
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end)
      text = text.slice(end + 2)
      if (line[3] === '-') continue
      const code = Number(line.slice(0, 3))
      if (waiter === null) ready.push(code)
      else waiter.resolve(code)
      waiter = null
    }
  })
  socket.on('error', (error) => waiter?.reject(error))
  socket.on('close', () => waiter?.reject(new Error('closed')))
  return {
    next() {
      const code = ready.shift()
      if (code !== undefined) return Promise.resolve(code)
      return new Promise((resolve, reject) => {
        waiter = { resolve, reject }
      })
    },
  }
}
