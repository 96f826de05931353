// A sending mail server: a real socket that speaks SMTP line by line, correctly or not, as the test says.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type SmtpReply = { code: number; lines: string[] }

export type Mail = {
  from?: string
  to: string | string[]
  /** The message; bare line feeds become CRLF unless it is bytes. */
  raw: string | Uint8Array
}

export type Sender = {
  readonly greeting: SmtpReply
  /** Sends a command line and waits for its reply. */
  command(line: string): Promise<SmtpReply>
  /** Sends octets unchanged, without waiting. */
  write(octets: string | Uint8Array): void
  reply(): Promise<SmtpReply>
  /** MAIL, RCPT for each, DATA; returns the reply to the final dot, or the one that ended it earlier. */
  send(mail: Mail): Promise<SmtpReply>
  quit(): Promise<void>
  readonly socket: Socket
}

/** Connects, reads the greeting and sends EHLO. */
export async function openSender(port: number, host = '127.0.0.1'): Promise<Sender> {
  const socket = connect({ port, host, noDelay: true })
  const replies = replyReader(socket)
  await once(socket, 'connect')
  const greeting = await replies.next()
  const command = async (line: string) => {
    socket.write(`${line}\r\n`)
    return replies.next()
  }
  await command('EHLO sender.example')
  return {
    greeting,
    socket,
    command,
    write: (octets) => void socket.write(octets),
    reply: () => replies.next(),
    async send(mail) {
      const recipients = typeof mail.to === 'string' ? [mail.to] : mail.to
      let reply = await command(`MAIL FROM:<${mail.from ?? 'sender@sender.example'}> BODY=8BITMIME`)
      if (reply.code >= 400) return reply
      for (const recipient of recipients) {
        reply = await command(`RCPT TO:<${recipient}>`)
        if (reply.code >= 400) return reply
      }
      reply = await command('DATA')
      if (reply.code >= 400) return reply
      socket.write(stuffDots(toBytes(mail.raw)))
      socket.write('.\r\n')
      return replies.next()
    },
    async quit() {
      if (socket.destroyed) return
      socket.end('QUIT\r\n')
      await once(socket, 'close').catch(() => {})
    },
  }
}

function toBytes(raw: string | Uint8Array): Buffer {
  const bytes =
    typeof raw === 'string' ? Buffer.from(raw.replace(/\r?\n/g, '\r\n')) : Buffer.from(raw)
  return bytes.subarray(-2).toString('latin1') === '\r\n' ? bytes : Buffer.concat([bytes, CRLF])
}

const CRLF = Buffer.from('\r\n')

/** RFC 5321 §4.5.2. */
function stuffDots(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').replace(/(^|\r\n)\./g, '$1..'), 'latin1')
}

function replyReader(socket: Socket): { next(): Promise<SmtpReply> } {
  const ready: SmtpReply[] = []
  const waiting: { resolve(reply: SmtpReply): void; reject(error: Error): void }[] = []
  let text = ''
  let lines: string[] = []
  let end: Error | null = null
  socket.on('data', (chunk) => {
    text += chunk.toString('utf8')
    for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n')) {
      const line = text.slice(0, at)
      text = text.slice(at + 2)
      lines.push(line.slice(4))
      if (line[3] === '-') continue
      const reply = { code: Number(line.slice(0, 3)), lines }
      lines = []
      const waiter = waiting.shift()
      if (waiter === undefined) ready.push(reply)
      else waiter.resolve(reply)
    }
  })
  const fail = (error: Error) => {
    end = error
    for (const waiter of waiting.splice(0)) waiter.reject(error)
  }
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('The connection was closed.')))
  return {
    next() {
      const reply = ready.shift()
      if (reply !== undefined) return Promise.resolve(reply)
      if (end !== null) return Promise.reject(end)
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
  }
}
