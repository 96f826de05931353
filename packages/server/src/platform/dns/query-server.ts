// Queries one DNS server by UDP from a fresh port, then by TCP if the answer was truncated or its
// sender is in doubt. Packets that do not answer exactly this question are ignored (RFC 5452 §9).

import { createSocket } from 'node:dgram'
import { connect, isIP, isIPv4, isIPv6 } from 'node:net'
import dnsPacket, { type DecodedPacket } from 'dns-packet'
import { onAbort } from '#platform/abort.ts'
import type { Chance } from '#platform/chance.ts'
import type { Question } from './answer.ts'

/** Not fragmented on any path (DNS flag day 2020). Larger answers use TCP. */
const DNS_UDP_BYTES_MAX = 1_232

export type ServerReply =
  | { readonly kind: 'packet'; readonly packet: DecodedPacket }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'failed'; readonly text: string }

/** `retry-tcp`: the UDP answer was truncated or is in doubt. */
type UdpReply = ServerReply | { readonly kind: 'retry-tcp' }

type Query = { readonly id: number; readonly name: string; readonly question: Question }

const RESPONSE = 1 << 15
const OPCODE = 0xf << 11
const HEADER_BYTES = 12

/** Never rejects. An aborted `signal` is a timeout. Without EDNS, there is no DNSSEC verdict. */
export async function queryServer(
  server: ServerAddress,
  question: Question,
  options: { chance: Chance; timeoutMs: number; signal: AbortSignal; hasEdns: boolean },
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
  const bytes = encodeQuery(query, options.hasEdns)
  try {
    const reply = await queryUdp(server, query, bytes, deadline.signal)
    return reply.kind === 'retry-tcp'
      ? await queryTcp(server, query, bytes, deadline.signal)
      : reply
  } finally {
    clearTimeout(timer)
  }
}

function encodeQuery({ id, name, question }: Query, hasEdns: boolean): Buffer {
  const packet: dnsPacket.Packet = {
    type: 'query',
    id,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ type: question.type, name, class: 'IN' }],
  }
  if (!hasEdns) return dnsPacket.encode(packet)
  return dnsPacket.encode({
    ...packet,
    // AD requests the AD flag in the answer (RFC 6840 §5.7). DO requests it from older resolvers.
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
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

/** Random letter case, which servers repeat, gives a forger more bits to guess. */
function mixCase(name: string, chance: Chance): string {
  const bits = chance.bytes(name.length)
  return [...name]
    .map((letter, index) => ((bits[index] ?? 0) & 1 ? letter.toUpperCase() : letter))
    .join('')
}

function queryUdp(
  server: ServerAddress,
  query: Query,
  bytes: Buffer,
  deadline: AbortSignal,
): Promise<UdpReply> {
  return untilReply<UdpReply>(deadline, (finish) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4')
    let isOpen = true
    socket.on('error', (error) => finish(failed(error)))
    socket.on('message', (message) => {
      const reply = readReply(message, query, { isUdp: true })
      if (reply !== null) finish(reply)
    })
    // A connected socket accepts datagrams of this server only and reports a closed port. A
    // callback instead of an event would be called with the error when there is no route.
    socket.on('connect', () => {
      if (isOpen) socket.send(bytes)
    })
    socket.connect(server.port, server.address)
    return () => {
      isOpen = false
      socket.close()
    }
  })
}

function queryTcp(
  server: ServerAddress,
  query: Query,
  bytes: Buffer,
  deadline: AbortSignal,
): Promise<ServerReply> {
  return untilReply<ServerReply>(deadline, (finish) => {
    const socket = connect({ host: server.address, port: server.port })
    let received = Buffer.alloc(0)
    socket.on('error', (error) => finish(failed(error)))
    socket.on('end', () => finish({ kind: 'failed', text: 'the DNS server closed early' }))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2) return
      // The two octets of the length limit an answer to 64 KiB.
      const end = 2 + received.readUInt16BE(0)
      if (received.length < end) return
      const reply = readReply(received.subarray(2, end), query, { isUdp: false })
      const isReply = reply !== null && reply.kind !== 'retry-tcp'
      finish(isReply ? reply : { kind: 'failed', text: 'DNS answered another question' })
    })
    const length = Buffer.alloc(2)
    length.writeUInt16BE(bytes.length)
    socket.write(Buffer.concat([length, bytes]))
    return () => socket.destroy()
  })
}

/** `start` returns a function that closes the socket. An aborted `deadline` is a timeout. */
function untilReply<Reply>(
  deadline: AbortSignal,
  start: (finish: (reply: Reply | ServerReply) => void) => () => void,
): Promise<Reply | ServerReply> {
  return new Promise((resolve) => {
    let close = () => {}
    let isDone = false
    const finish = (reply: Reply | ServerReply) => {
      if (isDone) return
      isDone = true
      deadline.removeEventListener('abort', timeOut)
      close()
      resolve(reply)
    }
    const timeOut = () => finish({ kind: 'timeout' })
    if (deadline.aborted) return timeOut()
    deadline.addEventListener('abort', timeOut)
    close = start(finish)
  })
}

/** Null if the message is not an answer to this query. */
function readReply(message: Buffer, query: Query, { isUdp }: { isUdp: boolean }): UdpReply | null {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== query.id) {
    return null
  }
  const flags = message.readUInt16BE(2)
  if ((flags & RESPONSE) === 0 || (flags & OPCODE) !== 0) return null
  // Truncated answers are not read. A forger can only cause a query by TCP.
  if (isUdp && (flags & dnsPacket.TRUNCATED_RESPONSE) !== 0) return { kind: 'retry-tcp' }
  const packet = decode(message)
  if (packet === null) return { kind: 'failed', text: 'the DNS answer is unreadable' }
  const [asked, ...others] = packet.questions ?? []
  if (asked === undefined || others.length > 0) {
    // RFC 1035 §4.1.1: a server that could not read the question may omit it.
    const isRefusal = asked === undefined && (flags & 0xf) !== 0 && (flags & 0xf) !== 3
    return isRefusal ? { kind: 'packet', packet } : null
  }
  const isSame =
    asked.type === query.question.type &&
    asked.class === 'IN' &&
    asked.name.toLowerCase() === query.question.name
  if (!isSame) return null
  if (isUdp && asked.name !== query.name) return { kind: 'retry-tcp' }
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
/** Docker's DNS server for containers, which forwards answers of other servers. */
const FORWARDER = '127.0.0.11'

/** Reads `ip`, `ip:port`, `[v6]:port` or a bare IPv6 address; null for any other text. */
export function parseServerAddress(text: string): ServerAddress | null {
  if (isIP(text) !== 0) return { address: text, port: PORT }
  const [, v6, v4, port] = WRITTEN.exec(text) ?? []
  const address = v6 ?? v4 ?? ''
  const number = port === undefined ? PORT : Number(port)
  if (isIP(address) === 0 || number < 1 || number > 65_535) return null
  return { address, port: number }
}

/** The path to a resolver on this machine is safe (RFC 7672 §2.1.1, RFC 4035 §4.9.3). */
export function isLoopbackServer({ address }: ServerAddress): boolean {
  if (address === FORWARDER) return false
  return isIPv4(address) ? address.startsWith('127.') : address === '::1'
}
