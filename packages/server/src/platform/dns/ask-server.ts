// One question to one DNS server: UDP from a fresh port, then TCP when the answer was cut or its
// sender is in doubt. What is not an answer to our very question is not seen (RFC 5452 §9).

import { createSocket } from 'node:dgram'
import { connect, isIP, isIPv4, isIPv6 } from 'node:net'
import dnsPacket, { type DecodedPacket } from 'dns-packet'
import { onAbort } from '#platform/abort.ts'
import type { Chance } from '#platform/chance.ts'
import type { Question } from './answer.ts'

/** Offered for answers by UDP: fits every path unfragmented (DNS flag day 2020); larger come by TCP. */
const DNS_UDP_BYTES_MAX = 1_232

export type ServerReply =
  | { readonly kind: 'packet'; readonly packet: DecodedPacket }
  | { readonly kind: 'silent' }
  | { readonly kind: 'failed'; readonly text: string }

/** What a datagram is to us. TCP is asked where a UDP answer does not do. */
type Verdict = ServerReply | { readonly kind: 'ask-tcp' } | { readonly kind: 'not-ours' }

type Query = { readonly id: number; readonly name: string; readonly question: Question }

const RESPONSE = 1 << 15
const OPCODE = 0xf << 11
const HEADER_BYTES = 12

/** Answers by `timeoutMs` or when `signal` aborts, which counts as silence; never rejects. */
export async function askServer(
  server: ServerAddress,
  question: Question,
  options: { chance: Chance; timeoutMs: number; signal: AbortSignal },
): Promise<ServerReply> {
  const deadline = new AbortController()
  const abort = () => deadline.abort()
  const timer = setTimeout(abort, options.timeoutMs)
  using _ = onAbort(options.signal, abort)
  const query: Query = {
    id: Buffer.from(options.chance.bytes(2)).readUInt16BE(),
    name: mixCase(question.name, options.chance),
    question,
  }
  const bytes = encodeQuery(query)
  try {
    const reply = await askUdp(server, query, bytes, deadline.signal)
    return reply.kind === 'ask-tcp' ? await askTcp(server, query, bytes, deadline.signal) : reply
  } finally {
    clearTimeout(timer)
  }
}

function encodeQuery({ id, name, question }: Query): Buffer {
  return dnsPacket.encode({
    type: 'query',
    id,
    // RFC 6840 §5.7: AD asks for AD in the answer; DO asks the same of resolvers older than that.
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
    questions: [{ type: question.type, name, class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: DNS_UDP_BYTES_MAX,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: dnsPacket.DNSSEC_OK,
        flag_do: true,
        options: [],
      },
    ],
  })
}

/** Letters in a case of our choosing, which come back as they went: bits for a forger to guess. */
function mixCase(name: string, chance: Chance): string {
  const bits = chance.bytes(name.length)
  return [...name]
    .map((letter, index) => ((bits[index] ?? 0) & 1 ? letter.toUpperCase() : letter))
    .join('')
}

type UdpReply = Exclude<Verdict, { kind: 'not-ours' }>

function askUdp(
  server: ServerAddress,
  query: Query,
  bytes: Buffer,
  deadline: AbortSignal,
): Promise<UdpReply> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4')
    let isDone = false
    const finish = (reply: UdpReply) => {
      if (isDone) return
      isDone = true
      deadline.removeEventListener('abort', onAbort)
      socket.close()
      resolve(reply)
    }
    const onAbort = () => finish({ kind: 'silent' })
    socket.on('error', (error) => finish(failed(error)))
    socket.on('message', (message) => {
      const verdict = judge(message, query, { isUdp: true })
      if (verdict.kind !== 'not-ours') finish(verdict)
    })
    if (deadline.aborted) return onAbort()
    deadline.addEventListener('abort', onAbort)
    // Connected, the socket takes datagrams of the server alone, and hears of a closed port.
    // An event, not a callback, which would be called with the error where there is no route.
    socket.on('connect', () => {
      if (!isDone) socket.send(bytes)
    })
    socket.connect(server.port, server.address)
  })
}

function askTcp(
  server: ServerAddress,
  query: Query,
  bytes: Buffer,
  deadline: AbortSignal,
): Promise<ServerReply> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port })
    const finish = (reply: ServerReply) => {
      deadline.removeEventListener('abort', onAbort)
      socket.destroy()
      resolve(reply)
    }
    const onAbort = () => finish({ kind: 'silent' })
    if (deadline.aborted) return onAbort()
    deadline.addEventListener('abort', onAbort)
    let received = Buffer.alloc(0)
    socket.on('error', (error) => finish(failed(error)))
    socket.on('end', () => finish({ kind: 'failed', text: 'the DNS server closed early' }))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2) return
      // Two octets of length bound an answer to 64 KiB.
      const end = 2 + received.readUInt16BE(0)
      if (received.length < end) return
      const verdict = judge(received.subarray(2, end), query, { isUdp: false })
      const isReply = verdict.kind !== 'not-ours' && verdict.kind !== 'ask-tcp'
      finish(isReply ? verdict : { kind: 'failed', text: 'DNS answered another question' })
    })
    const length = Buffer.alloc(2)
    length.writeUInt16BE(bytes.length)
    socket.write(Buffer.concat([length, bytes]))
  })
}

function judge(message: Buffer, query: Query, { isUdp }: { isUdp: boolean }): Verdict {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== query.id) {
    return { kind: 'not-ours' }
  }
  const flags = message.readUInt16BE(2)
  if ((flags & RESPONSE) === 0 || (flags & OPCODE) !== 0) return { kind: 'not-ours' }
  // Cut anywhere, so not worth reading; a forger gains nothing but that TCP is asked.
  if (isUdp && (flags & dnsPacket.TRUNCATED_RESPONSE) !== 0) return { kind: 'ask-tcp' }
  const packet = decode(message)
  if (packet === null) return { kind: 'failed', text: 'the DNS answer is unreadable' }
  const [asked, ...others] = packet.questions ?? []
  if (asked === undefined || others.length > 0) {
    // RFC 1035 §4.1.1: a server that could not read the question may leave it out.
    const isRefusal = asked === undefined && (flags & 0xf) !== 0 && (flags & 0xf) !== 3
    return isRefusal ? { kind: 'packet', packet } : { kind: 'not-ours' }
  }
  const isSame =
    asked.type === query.question.type &&
    asked.class === 'IN' &&
    asked.name.toLowerCase() === query.question.name
  if (!isSame) return { kind: 'not-ours' }
  if (isUdp && asked.name !== query.name) return { kind: 'ask-tcp' }
  return { kind: 'packet', packet }
}

function decode(message: Buffer): DecodedPacket | null {
  try {
    return dnsPacket.decode(message)
  } catch {
    return null
  }
}

function failed(error: NodeJS.ErrnoException): ServerReply {
  return { kind: 'failed', text: `the DNS server cannot be reached (${error.code ?? 'error'})` }
}

export type ServerAddress = { readonly address: string; readonly port: number }

const PORT = 53
const WRITTEN = /^(?:\[([0-9a-f:.%\w-]+)\]|([\d.]+))(?::(\d{1,5}))?$/i
/** Docker's server for containers passes on whatever came from a server elsewhere. */
const FORWARDER = '127.0.0.11'

/** Reads `ip`, `ip:port`, `[v6]:port` or a bare IPv6 address; null when it is none of them. */
export function parseServerAddress(text: string): ServerAddress | null {
  if (isIP(text) !== 0) return { address: text, port: PORT }
  const [, v6, v4, port] = WRITTEN.exec(text) ?? []
  const address = v6 ?? v4 ?? ''
  const number = port === undefined ? PORT : Number(port)
  if (isIP(address) === 0 || number < 1 || number > 65_535) return null
  return { address, port: number }
}

/**
 * Whether what a server at this address says of DNSSEC can be believed: nobody sits on the way to a
 * resolver on this machine (RFC 7672 §2.1.1, RFC 4035 §4.9.3).
 */
export function isLoopbackServer({ address }: ServerAddress): boolean {
  if (address === FORWARDER) return false
  return isIPv4(address) ? address.startsWith('127.') : address === '::1'
}
