// Reads a DNS packet as the answer to one question: records behind aliases, a definite no, or a
// fault. Assumes that the packet is the server's answer.

import { isIPv4, isIPv6 } from 'node:net'
import type { DecodedPacket, Answer as ResourceRecord } from 'dns-packet'

/** Maximum aliases followed; common resolvers follow 8 to 16. */
const DNS_ALIASES_MAX = 8

export type Answer<Record> =
  | {
      readonly kind: 'found'
      readonly records: Record[]
      /** The shortest TTL of all records and aliases on the path. */
      readonly ttlMs: number
      /** A trusted server validated the answer (RFC 4035 §3.2.3). */
      readonly isAuthenticated: boolean
      /** The name at the end of the aliases, in lower case. */
      readonly canonicalName: string
    }
  | {
      readonly kind: 'none'
      /** NXDOMAIN: the name, or the name at the end of its aliases, does not exist. */
      readonly isNameMissing: boolean
      /** The TTL according to RFC 2308 §5; 0 if the server sent none. */
      readonly ttlMs: number
    }
  | {
      readonly kind: 'fault'
      readonly text: string
      /** No server answered, so nothing is known about the name. */
      readonly isTimeout?: true
    }

export type TlsaRecord = {
  readonly usage: number
  readonly selector: number
  readonly matchingType: number
  /** A certificate, a public key, or a digest of one. */
  readonly data: Uint8Array
}

export type MxRecord = { readonly exchange: string; readonly preference: number }

export type RecordOf = {
  readonly MX: MxRecord
  readonly A: string
  readonly AAAA: string
  readonly TXT: string
  readonly TLSA: TlsaRecord
  readonly PTR: string
}

export type QuestionType = keyof RecordOf

export type Question<Type extends QuestionType = QuestionType> = {
  /** The name in lower case, without a trailing dot. */
  readonly name: string
  readonly type: Type
}

const NOERROR = 0
const FORMERR = 1
const NXDOMAIN = 3
const NOTIMP = 4
const BADVERS = 16
const RCODES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED']

/** The code in the header (RFC 1035 §4.1.1) with its extension (RFC 6891 §6.1.3). */
function readRcode(packet: DecodedPacket): number {
  const option = packet.additionals?.find((record) => record.type === 'OPT')
  const extended = option?.type === 'OPT' ? option.extendedRcode : 0
  return ((packet.flags ?? 0) & 0xf) | (extended << 4)
}

/** FORMERR (RFC 6891 §7) and NOTIMP mean no EDNS; BADVERS means another version of EDNS. */
export function isRefusalOfEdns(packet: DecodedPacket): boolean {
  return [FORMERR, NOTIMP, BADVERS].includes(readRcode(packet))
}

function nameRcode(rcode: number): string {
  return RCODES[rcode] ?? `error ${rcode}`
}

/** A loop of aliases is a fault, because it is usually an error that will be corrected. */
export function readAnswer<Type extends QuestionType>(
  packet: DecodedPacket,
  question: Question<Type>,
  isTrusted: boolean,
): Answer<RecordOf[Type]> {
  const rcode = readRcode(packet)
  if (rcode !== NOERROR && rcode !== NXDOMAIN) {
    return { kind: 'fault', text: `DNS answered ${nameRcode(rcode)}` }
  }
  const records = (packet.answers ?? []).filter(isInternet)
  const path = followAliases(records, question.name)
  if (path === null) return { kind: 'fault', text: 'DNS answered with a loop of aliases' }
  const own = records.filter((record) => record.type === question.type && isAt(record, path.name))
  const values = own.flatMap((record) => readRecord(question.type, record) ?? [])
  if (rcode === NXDOMAIN || own.length === 0) {
    // The answer is a referral, because the server does not recurse.
    if (!packet.flag_ra && !packet.flag_aa) {
      return { kind: 'fault', text: 'the DNS server does not resolve foreign names' }
    }
    return { kind: 'none', isNameMissing: rcode === NXDOMAIN, ttlMs: negativeTtlMs(packet) }
  }
  if (values.length === 0) return { kind: 'fault', text: 'DNS answered with unreadable records' }
  return {
    kind: 'found',
    records: values,
    ttlMs: Math.min(path.ttlMs, ...own.map(ttlMsOf)),
    isAuthenticated: isTrusted && packet.flag_ad,
    canonicalName: path.name,
  }
}

function followAliases(
  records: readonly ResourceRecord[],
  start: string,
): { name: string; ttlMs: number } | null {
  let name = start
  let ttlMs = Number.POSITIVE_INFINITY
  for (let hops = 0; hops <= DNS_ALIASES_MAX; hops++) {
    const alias = records.find((record) => record.type === 'CNAME' && isAt(record, name))
    if (alias?.type !== 'CNAME') return { name, ttlMs }
    name = alias.data.toLowerCase()
    ttlMs = Math.min(ttlMs, ttlMsOf(alias))
  }
  return null
}

function readRecord<Type extends QuestionType>(
  type: Type,
  record: ResourceRecord,
): RecordOf[Type] | null {
  const readers: { [Key in QuestionType]: (record: ResourceRecord) => RecordOf[Key] | null } = {
    MX: (found) =>
      found.type === 'MX'
        ? { exchange: found.data.exchange.toLowerCase(), preference: found.data.preference ?? 0 }
        : null,
    A: (found) => (found.type === 'A' && isIPv4(found.data) ? found.data : null),
    AAAA: (found) => (found.type === 'AAAA' && isIPv6(found.data) ? found.data : null),
    TXT: (found) => {
      if (found.type !== 'TXT') return null
      const strings = Array.isArray(found.data) ? found.data : [found.data]
      return Buffer.concat(strings.map((string) => Buffer.from(string))).toString('utf8')
    },
    TLSA: (found) => {
      if (found.type !== 'TLSA') return null
      const { usage, selector, matchingType, certificate } = found.data
      return { usage, selector, matchingType, data: Uint8Array.from(certificate) }
    },
    PTR: (found) => (found.type === 'PTR' ? found.data.toLowerCase() : null),
  }
  return readers[type](record)
}

function isInternet(record: ResourceRecord): boolean {
  return record.type !== 'OPT' && record.class === 'IN'
}

function isAt(record: ResourceRecord, name: string): boolean {
  return record.name.toLowerCase() === name
}

function negativeTtlMs(packet: DecodedPacket): number {
  const authority = packet.authorities?.find((record) => record.type === 'SOA')
  if (authority?.type !== 'SOA') return 0
  return Math.min(ttlMsOf(authority), (authority.data.minimum ?? 0) * 1000)
}

/** RFC 2181 §8: a TTL with its highest bit set is treated as 0. */
function ttlMsOf(record: ResourceRecord): number {
  const seconds = record.type === 'OPT' ? 0 : (record.ttl ?? 0)
  return seconds > 0x7fffffff ? 0 : seconds * 1000
}
