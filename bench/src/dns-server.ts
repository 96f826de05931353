// A DNS server for benchmarks, over UDP only. Answers with the texts of known names, and with
// NXDOMAIN for other names.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'

export type DnsServer = { readonly address: string; close(): void }

const HEADER_BYTES = 12
const TXT = 16
const SOA = 6
const TTL_SECONDS = 3_600
const ANSWER = 0x8180
const NXDOMAIN = 3

export type DnsAnswers = {
  /** TXT records by lower-case name. */
  readonly texts: Readonly<Record<string, string>>
  /** Delay of each answer, in milliseconds. */
  readonly delayMs?: number
  /** Whether NXDOMAIN includes an SOA with its TTL (RFC 2308); true by default. */
  readonly hasSoa?: boolean
}

export async function openDnsServer(answers: DnsAnswers): Promise<DnsServer> {
  const { delayMs = 0 } = answers
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const send = () => socket.send(answer(query, answers), from.port, from.address)
    if (delayMs === 0) send()
    else setTimeout(send, delayMs)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() }
}

function answer(query: Buffer, { texts, hasSoa = true }: DnsAnswers): Buffer {
  const { name, end } = readName(query)
  const text = texts[name.toLowerCase()]
  const isFound = text !== undefined && query.readUInt16BE(end) === TXT
  const header = Buffer.alloc(HEADER_BYTES)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(ANSWER | (text === undefined ? NXDOMAIN : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(isFound ? 1 : 0, 6)
  header.writeUInt16BE(isFound || !hasSoa ? 0 : 1, 8)
  const question = query.subarray(HEADER_BYTES, end + 4)
  if (isFound) return Buffer.concat([header, question, record(TXT, textData(text))])
  return Buffer.concat(hasSoa ? [header, question, record(SOA, NO)] : [header, question])
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** A record for the name in the question. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc000 | HEADER_BYTES, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(TTL_SECONDS, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function textData(text: string): Buffer {
  const pieces = text.match(/.{1,255}/g) ?? []
  return Buffer.concat(
    pieces.map((piece) => Buffer.from(`${String.fromCharCode(piece.length)}${piece}`, 'latin1')),
  )
}

/** The data of an SOA: two root names, zeros, and the negative TTL at the end. */
const NO = Buffer.alloc(22)
NO.writeUInt32BE(TTL_SECONDS, 18)
