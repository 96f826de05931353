// A DNS server over UDP and TCP on one port of 127.0.0.1, with a zone that tests write and change, and faults of
// servers by name. It follows aliases like a resolver and records the questions.

import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import dnsPacket, { type DecodedPacket, type Answer as ResourceRecord } from 'dns-packet'
import {
  type Behaviour,
  encode,
  forgedRecords,
  RCODES,
  RECURSES,
  TRUNCATED,
  toRecords,
  type Zone,
} from './dns-zone.ts'

export type { Behaviour, Zone, ZoneName } from './dns-zone.ts'

/** `bare`: FORMERR without the question. */
export type EdnsRefusal = 'formerr' | 'bare' | 'notimp' | 'badvers' | 'silent'

export type Asked = { readonly name: string; readonly type: string; readonly by: 'udp' | 'tcp' }

export type Dns = {
  /** For the settings of a resolver: `ip:port`. */
  readonly server: string
  /** Changes apply to the next question. */
  zone: Zone
  /** AD for names without their own. */
  isAuthenticated: boolean
  /** What the server does with questions that use EDNS (RFC 6891), for all names; null: answers them. */
  refusesEdns: EdnsRefusal | null
  /** In the order of arrival; names in lower case. */
  readonly asked: Asked[]
  /** The number of questions for a name, of one type or any. */
  countAsked(name: string, type?: string): number
  close(): Promise<void>
}

const CLASSIC_UDP_BYTES = 512
const ALIASES_MAX = 20
const LISTEN_ATTEMPTS_MAX = 10

/** Listens at once. A behaviour in place of a name's records counts for all its types. */
export async function openDns(zone: Zone = {}): Promise<Dns> {
  for (let attempt = 1; ; attempt++) {
    const peer = new Peer(zone)
    try {
      await peer.listen()
      return peer
    } catch (error) {
      // TCP may not be available on the port that UDP got.
      await peer.close()
      if (attempt === LISTEN_ATTEMPTS_MAX) throw error
    }
  }
}

type Reply = { readonly bytes: Buffer; readonly isElsewhere?: boolean }

class Peer implements Dns {
  zone: Zone
  isAuthenticated = false
  refusesEdns: EdnsRefusal | null = null
  readonly asked: Asked[] = []
  readonly #udp: UdpSocket = createSocket('udp4')
  readonly #elsewhere: UdpSocket = createSocket('udp4')
  readonly #tcp: Server = createServer((socket) => this.#serveTcp(socket))
  readonly #sockets = new Set<Socket>()
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(zone: Zone) {
    this.zone = zone
  }

  get server(): string {
    return `127.0.0.1:${this.#udp.address().port}`
  }

  countAsked(name: string, type?: string): number {
    return this.asked.filter((one) => one.name === name && (type ?? one.type) === one.type).length
  }

  async listen(): Promise<void> {
    this.#udp.on('message', (message, from) => this.#serveUdp(message, from))
    this.#elsewhere.bind(0, '127.0.0.1')
    await once(this.#elsewhere, 'listening')
    this.#udp.bind(0, '127.0.0.1')
    await once(this.#udp, 'listening')
    this.#tcp.listen(this.#udp.address().port, '127.0.0.1')
    await once(this.#tcp, 'listening')
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const socket of this.#sockets) socket.destroy()
    this.#udp.close()
    this.#elsewhere.close()
    await new Promise<void>((resolve) => this.#tcp.close(() => resolve()))
  }

  #serveUdp(message: Buffer, from: RemoteInfo): void {
    const query = dnsPacket.decode(message)
    const { behaviour, delayMs } = this.#note(query, 'udp')
    this.#after(delayMs, () => {
      for (const { bytes, isElsewhere } of this.#replies(query, behaviour, 'udp')) {
        const socket = isElsewhere ? this.#elsewhere : this.#udp
        socket.send(bytes, from.port, from.address)
      }
    })
  }

  #serveTcp(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    socket.once('data', (chunk: Buffer) => {
      const query = dnsPacket.decode(chunk.subarray(2))
      const { behaviour, delayMs } = this.#note(query, 'tcp')
      if (behaviour === 'truncate-close') socket.end()
      this.#after(delayMs, () => {
        for (const { bytes } of this.#replies(query, behaviour, 'tcp')) {
          const length = Buffer.alloc(2)
          length.writeUInt16BE(bytes.length)
          // In two segments, as the network may deliver it.
          socket.write(Buffer.concat([length, bytes.subarray(0, 5)]))
          socket.write(bytes.subarray(5))
        }
      })
    })
  }

  #note(query: DecodedPacket, by: 'udp' | 'tcp'): { behaviour?: Behaviour; delayMs: number } {
    const [question] = query.questions ?? []
    const name = (question?.name ?? '').toLowerCase()
    const type = question?.type ?? 'NULL'
    this.asked.push({ name, type, by })
    const entry = this.zone[name]
    if (typeof entry === 'string') return { behaviour: entry, delayMs: 0 }
    if (entry === undefined) return { delayMs: 0 }
    const { MX, A, AAAA, TXT, TLSA, PTR } = entry
    const records = { MX, A, AAAA, TXT, TLSA, PTR }
    const values = type in records ? records[type as keyof typeof records] : undefined
    const behaviour = typeof values === 'string' ? values : entry.behaviour
    const delayMs = entry.delayMs ?? 0
    return behaviour === undefined ? { delayMs } : { behaviour, delayMs }
  }

  #after(delayMs: number, then: () => void): void {
    if (delayMs === 0) {
      then()
      return
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      then()
    }, delayMs)
    this.#timers.add(timer)
  }

  #replies(query: DecodedPacket, behaviour: Behaviour | undefined, by: 'udp' | 'tcp'): Reply[] {
    const isUdp = by === 'udp'
    const hasEdns = query.additionals?.some(({ type }) => type === 'OPT')
    if (hasEdns && this.refusesEdns !== null) return refuseEdns(query, this.refusesEdns)
    switch (behaviour) {
      case undefined:
        return [{ bytes: this.#answer(query, isUdp) }]
      case 'silent':
        return []
      case 'servfail':
      case 'refused':
      case 'nxdomain':
        return [{ bytes: encode(query, { flags: RCODES[behaviour] | RECURSES }) }]
      case 'referral':
        return [{ bytes: encode(query, { flags: 0 }) }]
      case 'garbage': {
        const bytes = encode(query, { flags: RECURSES, answers: forgedRecords(query) })
        return [{ bytes: bytes.fill(0xff, 12) }]
      }
      case 'truncate':
      case 'truncate-silent':
      case 'truncate-close':
        if (isUdp) return [{ bytes: encode(query, { flags: TRUNCATED | RECURSES }) }]
        return behaviour === 'truncate' ? [{ bytes: this.#answer(query, false) }] : []
      default:
        return isUdp ? this.#forge(query, behaviour) : [{ bytes: this.#answer(query, false) }]
    }
  }

  #forge(query: DecodedPacket, behaviour: Behaviour): Reply[] {
    const [question] = query.questions ?? []
    if (question === undefined) return []
    const { name, type } = question
    const forged = (changes: Parameters<typeof encode>[1]) =>
      encode(query, { flags: RECURSES, answers: forgedRecords(query), ...changes })
    const honest = { bytes: this.#answer(query, true) }
    switch (behaviour) {
      case 'forged-case':
        return [{ bytes: forged({ questions: [{ name: swapCase(name), type, class: 'IN' }] }) }]
      case 'forged-id':
        return [{ bytes: forged({ id: (query.id ?? 0) ^ 1 }) }, honest]
      case 'forged-name':
        return [{ bytes: forged({ questions: [{ name: `x${name}`, type, class: 'IN' }] }) }, honest]
      case 'forged-type':
        return [{ bytes: forged({ questions: [{ name, type: 'NULL', class: 'IN' }] }) }, honest]
      case 'forged-query':
        return [{ bytes: forged({ type: 'query' }) }, honest]
      default:
        return [{ bytes: forged({}), isElsewhere: true }, honest]
    }
  }

  #answer(query: DecodedPacket, isUdp: boolean): Buffer {
    const [question] = query.questions ?? []
    const answers: ResourceRecord[] = []
    let name = question?.name ?? ''
    let entry = this.zone[name.toLowerCase()]
    let isAuthenticated = true
    let ttl = 300
    for (let hops = 0; hops <= ALIASES_MAX; hops++) {
      entry = this.zone[name.toLowerCase()]
      if (entry === undefined || typeof entry === 'string') break
      ttl = entry.ttlSeconds ?? ttl
      isAuthenticated &&= entry.isAuthenticated ?? this.isAuthenticated
      if (entry.CNAME === undefined) break
      answers.push({ type: 'CNAME', name, ttl, class: 'IN', data: entry.CNAME })
      name = entry.CNAME
    }
    const isMissing = entry === undefined || entry === 'nxdomain'
    const records = typeof entry === 'object' ? toRecords(name, question?.type ?? '', entry) : []
    answers.push(...records)
    const soa = {
      mname: 'ns.invalid',
      rname: 'root.invalid',
      serial: 1,
      refresh: 1,
      retry: 1,
      expire: 1,
      minimum: ttl,
    }
    const flags =
      RECURSES |
      (isMissing ? RCODES.nxdomain : 0) |
      (isAuthenticated && !isMissing ? dnsPacket.AUTHENTIC_DATA : 0)
    const bytes = encode(query, {
      flags,
      answers,
      authorities: records.length > 0 ? [] : [{ type: 'SOA', name: 'invalid', ttl, data: soa }],
    })
    const option = query.additionals?.find((record) => record.type === 'OPT')
    const room = option?.type === 'OPT' ? option.udpPayloadSize : CLASSIC_UDP_BYTES
    return isUdp && bytes.length > room ? encode(query, { flags: flags | TRUNCATED }) : bytes
  }
}

function refuseEdns(query: DecodedPacket, refusal: EdnsRefusal): Reply[] {
  if (refusal === 'silent') return []
  if (refusal === 'badvers') {
    const option = { type: 'OPT', name: '.', udpPayloadSize: 512, extendedRcode: 1 } as const
    const additionals = [{ ...option, ednsVersion: 0, flags: 0, flag_do: false, options: [] }]
    return [{ bytes: encode(query, { flags: RECURSES, additionals }) }]
  }
  const flags = RECURSES | (refusal === 'notimp' ? 4 : 1)
  return [{ bytes: encode(query, { flags, ...(refusal === 'bare' && { questions: [] }) }) }]
}

/** A spelling that never equals the random one of a query. */
function swapCase(name: string): string {
  return [...name]
    .map((letter) => {
      const lower = letter.toLowerCase()
      return letter === lower ? letter.toUpperCase() : lower
    })
    .join('')
}
