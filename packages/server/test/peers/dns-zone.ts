// What the DNS server of the tests says: its zone as plain values, and these as records and packets.

import dnsPacket, { type DecodedPacket, type Answer as ResourceRecord } from 'dns-packet'

/**
 * What a server does instead of answering. The forged kinds send a forger's answer (FORGED_ADDRESS or
 * FORGED_HOST) first and the true one after it: the reader must wait for the second.
 */
export type Behaviour =
  | 'servfail'
  | 'refused'
  | 'nxdomain'
  /** Never answers. */
  | 'silent'
  /** Cuts by UDP, answers by TCP. */
  | 'truncate'
  /** Cuts by UDP, and takes TCP connections without a word. */
  | 'truncate-silent'
  /** Cuts by UDP, and closes TCP connections. */
  | 'truncate-close'
  /** Answers with an empty referral, as a server without recursion does. */
  | 'referral'
  /** Answers with the right header and rubbish after it. */
  | 'garbage'
  /** By UDP, the name comes back in lower case with a forged record; TCP is honest. */
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
  /** Each record a string, or its several strings. */
  readonly TXT?: Values<string | readonly string[]>
  readonly TLSA?: Values<{
    usage: number
    selector: number
    matchingType: number
    data: Uint8Array
  }>
  readonly PTR?: Values<string>
  readonly CNAME?: string
  /** For the types that name none themselves. */
  readonly behaviour?: Behaviour
  /** 300 unless given; of a negative answer too. */
  readonly ttlSeconds?: number
  /** Sets AD for this name; the server's own unless given. */
  readonly isAuthenticated?: boolean
  readonly delayMs?: number
}

/** Lower-case names without trailing dots. One that is absent does not exist (NXDOMAIN). */
export type Zone = Record<string, ZoneName | Behaviour>

export const RCODES = { servfail: 2, nxdomain: 3, refused: 5 } as const
export const RECURSES = dnsPacket.RECURSION_AVAILABLE | dnsPacket.RECURSION_DESIRED
export const TRUNCATED = dnsPacket.TRUNCATED_RESPONSE

/** An answer to `query`, with what `changes` say of it. */
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

/** What a name holds of one type. */
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

/** RFC 1035 §3.3: a string has 255 octets at most. */
function stringsOf(text: string): string[] {
  return text.length <= 255 ? [text] : (text.match(/.{1,255}/gs) ?? [])
}

function listed<Value>(values: Values<Value> | undefined): readonly Value[] {
  return values === undefined || typeof values === 'string' ? [] : values
}

/** What a forger would have the asker believe. */
export function forgedRecords(query: DecodedPacket): ResourceRecord[] {
  const [question] = query.questions ?? []
  const base = { name: question?.name ?? '', ttl: 300, class: 'IN' } as const
  if (question?.type === 'MX') {
    return [{ ...base, type: 'MX', data: { exchange: FORGED_HOST, preference: 1 } }]
  }
  return [{ ...base, type: 'A', data: FORGED_ADDRESS }]
}
