// A short talk with an SMTP server: its greeting, what it offers, and the certificate it shows. No
// mail is sent and no certificate is trusted.

import type { X509Certificate } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { parseExtensions } from '@mailroom/mail/smtp/reply.ts'
import { Channel } from '@mailroom/smtp/client/channel.ts'
import { secure } from '@mailroom/smtp/client/handshake.ts'
import type { Failure } from '@mailroom/smtp/client/outgoing-mail.ts'

export type SmtpServerSeen =
  | {
      readonly kind: 'up'
      /** What it calls itself in the greeting. */
      readonly name: string
      readonly startTls: 'works' | 'not offered' | 'broken'
      readonly certificate: X509Certificate | null
    }
  | { readonly kind: 'no smtp'; readonly text: string }
  | { readonly kind: 'down'; readonly text: string }

export type ProbeOptions = {
  readonly host: string
  readonly port: number
  /** What we call ourselves. */
  readonly hostname: string
  readonly isTlsImplicit?: boolean
  readonly signal: AbortSignal
}

/** Of each step; the whole is bounded by `signal`. */
const STEP_MS_MAX = 4_000

/** Never rejects for what a server does. */
export async function probeSmtp(options: ProbeOptions): Promise<SmtpServerSeen> {
  let socket: Socket
  try {
    socket = await connectTo(options)
  } catch (error) {
    return { kind: 'down', text: error instanceof Error ? error.message : String(error) }
  }
  try {
    if (options.isTlsImplicit !== true) return await talk(socket, options)
    const secured = await handshake(socket, options)
    if (secured.kind === 'failed') return { kind: 'no smtp', text: textOf(secured.failure) }
    socket = secured.socket
    const certificate = secured.socket.getPeerX509Certificate() ?? null
    const channel = new Channel(socket, 1, options.signal)
    const name = await readName(channel)
    channel.close()
    if (name.kind === 'no smtp') return name
    return { kind: 'up', name: name.name, startTls: 'works', certificate }
  } finally {
    socket.destroy()
  }
}

/** Resolves with a socket that is connected; rejects with why not. */
export function connectTo(options: {
  host: string
  port: number
  signal: AbortSignal
}): Promise<Socket> {
  const { host, port, signal } = options
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true })
    const end = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const late = new Error(`no connection within ${STEP_MS_MAX / 1_000} seconds`)
    const timer = setTimeout(() => end(late), STEP_MS_MAX)
    // Stays: an error that nobody hears would end the process.
    socket.on('error', end)
    socket.once('close', () => clearTimeout(timer))
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
    signal.addEventListener('abort', () => end(new Error('given up')), { once: true })
  })
}

async function talk(plain: Socket, options: ProbeOptions): Promise<SmtpServerSeen> {
  const channel = new Channel(plain, 1, options.signal)
  const greeted = await readName(channel)
  if (greeted.kind === 'no smtp') return greeted
  const { name } = greeted
  const ehlo = await channel.ask(`EHLO ${options.hostname}\r\n`, STEP_MS_MAX)
  const isOffered = ehlo.kind === 'answer' && parseExtensions(ehlo.reply.lines).starttls
  if (!isOffered) {
    channel.write('QUIT\r\n', 1)
    channel.close()
    return { kind: 'up', name, startTls: 'not offered', certificate: null }
  }
  const answer = await channel.ask('STARTTLS\r\n', STEP_MS_MAX)
  if (answer.kind === 'failed' || answer.reply.code !== 220) {
    return { kind: 'up', name, startTls: 'broken', certificate: null }
  }
  const secured = await handshake(channel.release(), options)
  if (secured.kind === 'failed') return { kind: 'up', name, startTls: 'broken', certificate: null }
  const certificate = secured.socket.getPeerX509Certificate() ?? null
  secured.socket.destroy()
  return { kind: 'up', name, startTls: 'works', certificate }
}

async function readName(
  channel: Channel,
): Promise<{ kind: 'named'; name: string } | { kind: 'no smtp'; text: string }> {
  const greeting = await channel.read(STEP_MS_MAX)
  if (greeting.kind === 'failed') {
    return { kind: 'no smtp', text: `no greeting: ${textOf(greeting.failure)}` }
  }
  const { code, lines } = greeting.reply
  const [line = ''] = lines
  if (code !== 220) return { kind: 'no smtp', text: `${code} ${line}` }
  return { kind: 'named', name: (line.split(' ')[0] ?? '').toLowerCase() }
}

function textOf(failure: Failure): string {
  return failure.kind === 'reply' ? failure.reply.text : failure.text
}

function handshake(plain: Socket, { host, signal }: ProbeOptions) {
  return secure(plain, {
    tls: { kind: 'opportunistic' },
    servername: host,
    trustedCertificates: undefined,
    timeoutMs: STEP_MS_MAX,
    signal,
  })
}
