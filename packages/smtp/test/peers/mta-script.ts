// The behaviours that a test can script for the receiving server of `mta.ts`, and their effect on a socket.

import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'

export type MtaAnswer =
  /** A reply without its last CRLF; lines of a longer one are joined by CRLF. */
  | string
  | 'close'
  | 'reset'
  /** Sends and reads nothing more. */
  | 'hang'
  | 'endless-lines'
  | 'endless-line'
  /** Octets, unchanged. */
  | { readonly octets: string | Uint8Array; readonly next?: MtaAnswer }
  | { readonly delayMs: number; readonly next: MtaAnswer }
  /** A reply octet by octet, each in a segment of its own. */
  | { readonly drip: string; readonly everyMs: number }

type Behaviour<Parameters extends readonly unknown[]> =
  | MtaAnswer
  | ((...parameters: Parameters) => MtaAnswer | undefined | Promise<MtaAnswer | undefined>)

export type MtaMessage = {
  readonly reversePath: string
  /** The parameters after the path of MAIL. */
  readonly mailParameters: string
  /** The accepted recipients. */
  readonly recipients: readonly string[]
  /** Dot-stuffing undone, with its last CRLF. */
  readonly raw: Buffer
  /** The protocol, as `TLSv1.3`, or null. */
  readonly tls: string | null
  /** From SNI. */
  readonly servername: string | null
  /** From 1, in the order of opening. */
  readonly connection: number
  readonly authUser: string | null
}

/** A well-behaved server, except for the behaviours given here that do not return undefined. */
export type MtaScript = {
  /** The hostname of the greeting and of EHLO. */
  readonly hostname?: string
  /** Called with the connection's number, from 1. */
  readonly greeting?: Behaviour<[connection: number]>
  /** By keyword as EHLO lists them; PIPELINING, 8BITMIME, SMTPUTF8 and ENHANCEDSTATUSCODES by default. */
  readonly extensions?: readonly string[]
  readonly onEhlo?: Behaviour<[name: string]>
  readonly onHelo?: Behaviour<[name: string]>
  readonly onMail?: Behaviour<[reversePath: string, connection: number]>
  /** `count` is how many times this address was given to this server, from 1. */
  readonly onRcpt?: Behaviour<[address: string, count: number]>
  readonly onData?: Behaviour<[recipients: readonly string[]]>
  readonly onFinalDot?: Behaviour<[message: MtaMessage, count: number]>
  readonly onRset?: Behaviour<[]>
  readonly onQuit?: Behaviour<[]>
  readonly onStartTls?: Behaviour<[]>
  /** Sent in clear text in the segment of the answer to STARTTLS. */
  readonly injected?: string
  /** Offers STARTTLS: a handshake that succeeds, stalls, is cut or gets random octets. */
  readonly tls?: SecureContext | 'stall' | 'close' | 'garbage'
  /** TLS from the first octet. */
  readonly isTlsImplicit?: boolean
  /** Offers AUTH, PLAIN and LOGIN unless `mechanisms` says otherwise. */
  readonly auth?: { readonly user: string; readonly password: string; mechanisms?: string }
  /** Reads nothing more after its 354. */
  readonly isDeafToContent?: boolean
}

/** The value of a behaviour for an event. */
export async function decide<Parameters extends readonly unknown[]>(
  behaviour: Behaviour<Parameters> | undefined,
  parameters: Parameters,
  otherwise: string,
): Promise<MtaAnswer> {
  if (typeof behaviour !== 'function') return behaviour ?? otherwise
  return (await behaviour(...parameters)) ?? otherwise
}

/** The reply that a client gets in the end, or '' if it gets none. */
export function replyOf(answer: MtaAnswer): string {
  if (typeof answer === 'string') return /^\d/.test(answer) ? answer : ''
  if ('drip' in answer) return answer.drip
  if ('octets' in answer) return answer.next === undefined ? '' : replyOf(answer.next)
  return replyOf(answer.next)
}

/**
 * Resolves when the reply was sent; never for 'hang' and similar ones. `plain` is the socket under TLS, or the same
 * one: only it can be reset.
 */
export async function perform(answer: MtaAnswer, socket: Socket, plain: Socket): Promise<void> {
  if (typeof answer !== 'string') return performSlowly(answer, socket, plain)
  switch (answer) {
    case 'close':
      socket.end()
      socket.destroySoon()
      return
    case 'reset':
      plain.resetAndDestroy()
      return
    case 'hang':
      return forever()
    case 'endless-lines':
      return flood(socket, Buffer.from('250-and another thing\r\n'.repeat(500)))
    case 'endless-line':
      return flood(socket, Buffer.from(`250 ${'x'.repeat(16_000)}`))
    default:
      socket.write(`${answer}\r\n`)
  }
}

async function performSlowly(
  answer: Exclude<MtaAnswer, string>,
  socket: Socket,
  plain: Socket,
): Promise<void> {
  if ('delayMs' in answer) {
    await pause(answer.delayMs)
    return perform(answer.next, socket, plain)
  }
  if ('octets' in answer) {
    socket.write(answer.octets)
    return answer.next === undefined ? undefined : perform(answer.next, socket, plain)
  }
  for (const octet of Buffer.from(`${answer.drip}\r\n`)) {
    if (socket.destroyed) return
    socket.write(Buffer.of(octet))
    await pause(answer.everyMs)
  }
}

async function flood(socket: Socket, octets: Buffer): Promise<void> {
  while (!socket.destroyed) {
    if (!socket.write(octets)) {
      await new Promise<void>((resolve) => {
        socket.once('drain', resolve)
        socket.once('close', () => resolve())
      })
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function forever(): Promise<void> {
  return new Promise(() => {})
}
