// The answers of the DNS server of the tests: its zone as plain values, and their records and packets.

import dnsPacket, { type DecodedPacket, type Answer as ResourceRecord } from 'dns-packet'

/**
 * A behaviour instead of an answer. The forged kinds send a forged answer (FORGED_ADDRESS or FORGED_HOST) first and
 * the true one after it: the resolver must wait for the second.
 */
export type Behaviour =
  | 'servfail'
  | 'refused'
  | 'nxdomain'
  /** Never answers. */
  | 'silent'
  /** Truncates by UDP, answers by TCP. */
  | 'truncate'
  /** Truncates by UDP, and accepts TCP connections without answering. */
  | 'truncate-silent'
  /** Truncates by UDP, and closes TCP connections. */
  | 'truncate-close'
  /** Answers with an empty referral, as a server without recursion does. */
  | 'referral'
  /** Answers with a valid header and random octets after it. */
  | 'garbage'
  /** By UDP, each letter of the name comes back in its other case, with a forged record; TCP is honest. */
  | 'forged-case'
  | 'forged-id'
  | 'forged-name'
  | 'forged-type'
  | 'forged-query'
  /** From another port of the same address. */
  | 'forged-port'

export const FORGED_ADDRESS = '6.6.6.6'
export const FORGED_HOST = 'forger.example'

type Values<Value> = readonly Value[] | Behaviour

export type ZoneName = {
  readonly MX?: Values<{ exchange: string; preference: number }>
  readonly A?: Values<string>
  readonly AAAA?: Values<string>
  /** Each record is a string, or several. */
  readonly TXT?: Values<string | readonly string[]>
  readonly TLSA?: Values<{
    usage: number
    selector: number
    matchingType: number
    data: Uint8Array
  }>
  readonly PTR?: Values<string>
  readonly CNAME?: string
  /** The TTL of types that give none themselves. */
  readonly behaviour?: Behaviour
  /** 300 by default; for negative answers too. */
  readonly ttlSeconds?: number
  /** Sets AD for this name; the server's default otherwise. */
  readonly isAuthenticated?: boolean
  readonly delayMs?: number
}

/** Lower-case names without trailing dots. One that is absent does not exist (NXDOMAIN). */
export type Zone = Record<string, ZoneName | Behaviour>

export const RCODES = { servfail: 2, nxdomain: 3, refused: 5 } as const
export const RECURSES = dnsPacket.RECURSION_AVAILABLE | dnsPacket.RECURSION_DESIRED
export const TRUNCATED = dnsPacket.TRUNCATED_RESPONSE

/** An answer to `query`, with the overrides in `changes`. */
export function encode(
  query: DecodedPacket,
  changes: Parameters<typeof dnsPacket.encode>[0],
): Buffer {
  return dnsPacket.encode({
    type: 'response',
    id: query.id,
    questions: query.questions,
    ...changes,
  })
}

/** The records of one type of a name. */
export function toRecords(name: string, type: string, entry: ZoneName): ResourceRecord[] {
  const base = { name, ttl: entry.ttlSeconds ?? 300, class: 'IN' } as const
  const { MX, A, AAAA, TXT, TLSA, PTR } = entry
  if (type === 'MX') return listed(MX).map((data) => ({ ...base, type: 'MX', data }))
  if (type === 'A') return listed(A).map((data) => ({ ...base, type: 'A', data }))
  if (type === 'AAAA') return listed(AAAA).map((data) => ({ ...base, type: 'AAAA', data }))
  if (type === 'PTR') return listed(PTR).map((data) => ({ ...base, type: 'PTR', data }))
  if (type === 'TXT') {
    return listed(TXT).map((data) => ({
      ...base,
      type: 'TXT',
      data: typeof data === 'string' ? stringsOf(data) : [...data],
    }))
  }
  if (type !== 'TLSA') return []
  return listed(TLSA).map(({ data, ...rest }) => ({
    ...base,
    type: 'TLSA',
    data: { ...rest, certificate: Buffer.from(data) },
  }))
}

/** RFC 1035 §3.3: a string has at most 255 octets. */
function stringsOf(text: string): string[] {
  return text.length <= 255 ? [text] : (text.match(/.{1,255}/gs) ?? [])
}

function listed<Value>(values: Values<Value> | undefined): readonly Value[] {
  return values === undefined || typeof values === 'string' ? [] : values
}

/** The answer of the forger. */
export function forgedRecords(query: DecodedPacket): ResourceRecord[] {
  const [question] = query.questions ?? []
  const base = { name: question?.name ?? '', ttl: 300, class: 'IN' } as const
  if (question?.type === 'MX') {
    return [{ ...base, type: 'MX', data: { exchange: FORGED_HOST, preference: 1 } }]
  }
  return [{ ...base, type: 'A', data: FORGED_ADDRESS }]
}
