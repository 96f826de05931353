// Client-side TLS: secures a connected socket and checks the server's certificate as the caller
// requires.

import { constants, createHash, type X509Certificate } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { ABORTED, timeoutFailure, tlsFailure } from './channel.ts'
import type { ClientTls, Failure, TlsaRecord } from './outgoing-mail.ts'

type HandshakeOptions = {
  readonly tls: ClientTls
  /** Used for SNI if `tls` names no server. */
  readonly servername: string | undefined
  /** PEM certificates, trusted instead of the system's certificate authorities. */
  readonly trustedCertificates: readonly string[] | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

type Secured =
  | { readonly kind: 'secured'; readonly socket: TLSSocket; readonly isVerified: boolean }
  | { readonly kind: 'failed'; readonly failure: Failure }

const CHAIN_LENGTH_MAX = 10

/** Takes ownership of the socket and destroys it after a failure. */
export async function secure(plain: Socket, options: HandshakeOptions): Promise<Secured> {
  const shaken = await shakeHands(plain, options)
  if (shaken.kind === 'failed') return shaken
  const { tls } = options
  const { socket } = shaken
  if (tls.kind !== 'dane') return { kind: 'secured', socket, isVerified: tls.kind === 'verified' }
  const verdict = checkDane(shownChain(socket), tls.records, tls.servername, Date.now())
  if (verdict !== 'mismatch') return { kind: 'secured', socket, isVerified: verdict === 'match' }
  socket.destroy()
  return { kind: 'failed', failure: tlsFailure('The certificate matches no TLSA record') }
}

type Shaken = { kind: 'done'; socket: TLSSocket } | { kind: 'failed'; failure: Failure }

function shakeHands(plain: Socket, options: HandshakeOptions): Promise<Shaken> {
  const { tls, signal, timeoutMs } = options
  const name = 'servername' in tls ? tls.servername : options.servername
  // An address literal starts with a bracket and is not a name.
  const isName = name !== undefined && isIP(name) === 0 && !name.startsWith('[')
  return new Promise((resolve) => {
    const socket = connect({
      socket: plain,
      secureContext: contextFor(options.trustedCertificates),
      rejectUnauthorized: tls.kind === 'verified',
      // An address is not allowed in SNI (RFC 6066 §3), but the certificate must still match it.
      ...(isName ? { servername: name } : name === undefined ? {} : { host: name }),
    })
    const settle = (shaken: Shaken) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      socket.off('secureConnect', onSecure)
      socket.off('close', onClose)
      if (shaken.kind === 'failed') {
        socket.destroy()
        plain.destroy()
      }
      resolve(shaken)
    }
    const fail = (failure: Failure) => settle({ kind: 'failed', failure })
    const onSecure = () => settle({ kind: 'done', socket })
    const onClose = () => fail(tlsFailure('The server closed the connection in the handshake'))
    const onAbort = () => fail(ABORTED)
    const timer = setTimeout(() => fail(timeoutFailure('TLS handshake', timeoutMs)), timeoutMs)
    socket.on('secureConnect', onSecure)
    // The listener is never removed: an error without a listener would end the process, and
    // settling twice has no effect.
    socket.on('error', (error) => fail(tlsFailure(error)))
    socket.on('close', onClose)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
  })
}

let systemContext: SecureContext | undefined

/** Loading the system's authorities takes milliseconds, so all connections share one context. */
function contextFor(trusted: readonly string[] | undefined): SecureContext {
  const minVersion = 'TLSv1.2'
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION
  if (trusted !== undefined) {
    return createSecureContext({ ca: [...trusted], minVersion, secureOptions })
  }
  systemContext ??= createSecureContext({ minVersion, secureOptions })
  return systemContext
}

function shownChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = []
  let certificate = socket.getPeerX509Certificate()
  while (certificate !== undefined && chain.length < CHAIN_LENGTH_MAX) {
    chain.push(certificate)
    certificate = certificate.issuerCertificate
  }
  return chain
}

/** `unusable`: no record can be checked, so TLS is required with any certificate. */
type DaneVerdict = 'match' | 'mismatch' | 'unusable'

const DANE_TA = 2
const DANE_EE = 3
const DIGEST_OCTETS: Readonly<Record<number, number>> = { 1: 32, 2: 64 }

/**
 * Whether the server's certificates (`chain`, its own first) match its DNSSEC-authenticated TLSA
 * records (DANE, RFC 7672). Usage 3 binds only the key and ignores names and dates (§3.1.1). Usage
 * 2 requires a valid chain to the named certificate, and `servername` in the first one (§3.1.2).
 * `nowMs` is wall-clock time.
 */
function checkDane(
  chain: readonly X509Certificate[],
  records: readonly TlsaRecord[],
  servername: string,
  nowMs: number,
): DaneVerdict {
  const usable = records.filter(isUsableTlsa)
  if (usable.length === 0) return 'unusable'
  const [leaf] = chain
  if (leaf === undefined) return 'mismatch'
  const ends = usable.filter(({ usage }) => usage === DANE_EE)
  if (ends.some((record) => isNamed(leaf, record))) return 'match'
  const anchors = usable.filter(({ usage }) => usage === DANE_TA)
  const isTrusted =
    anchors.length > 0 &&
    leaf.checkHost(servername) !== undefined &&
    reachesAnchor(chain, leaf, anchors, nowMs)
  return isTrusted ? 'match' : 'mismatch'
}

/** The PKIX usages 0 and 1 are not used between mail servers (RFC 7672 §3.1.3). */
export function isUsableTlsa({ usage, selector, matchingType, data }: TlsaRecord): boolean {
  if (usage !== DANE_TA && usage !== DANE_EE) return false
  if (selector !== 0 && selector !== 1) return false
  return matchingType === 0 ? data.length > 0 : DIGEST_OCTETS[matchingType] === data.length
}

function isNamed(certificate: X509Certificate, record: TlsaRecord): boolean {
  const { raw, publicKey } = certificate
  const octets = record.selector === 0 ? raw : publicKey.export({ type: 'spki', format: 'der' })
  if (record.matchingType === 0) return octets.equals(record.data)
  const digest = createHash(record.matchingType === 1 ? 'sha256' : 'sha512')
    .update(octets)
    .digest()
  return digest.equals(record.data)
}

/** Follows signatures, because TLS 1.3 allows a server's certificates in any order. */
function reachesAnchor(
  chain: readonly X509Certificate[],
  leaf: X509Certificate,
  anchors: readonly TlsaRecord[],
  nowMs: number,
): boolean {
  const left = chain.filter((certificate) => certificate !== leaf)
  let current = leaf
  for (let length = 1; length <= CHAIN_LENGTH_MAX; length += 1) {
    if (!isInForce(current, nowMs)) return false
    if (anchors.some((record) => isNamed(current, record))) return true
    const at = left.findIndex((issuer) => isIssuer(issuer, current))
    const [issuer] = at === -1 ? [] : left.splice(at, 1)
    if (issuer === undefined) return false
    current = issuer
  }
  return false
}

function isIssuer(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isInForce(certificate: X509Certificate, nowMs: number): boolean {
  return certificate.validFromDate.getTime() <= nowMs && nowMs <= certificate.validToDate.getTime()
}
