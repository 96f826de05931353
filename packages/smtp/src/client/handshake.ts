// The client's side of TLS: from a connected socket to a secured one, judged by what the caller
// demands of the server's certificate.

import { constants, type X509Certificate } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { checkDane } from './dane.ts'
import { ABORTED, type Failure, timeoutFailure, tlsFailure } from './failure.ts'
import type { ClientTls } from './outgoing-mail.ts'

export type HandshakeOptions = {
  readonly tls: ClientTls
  /** For SNI where `tls` names no server. */
  readonly servername: string | undefined
  /** PEM; trusted instead of the system's authorities. */
  readonly trustedCertificates: readonly string[] | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export type Secured =
  | { readonly kind: 'secured'; readonly socket: TLSSocket; readonly isVerified: boolean }
  | { readonly kind: 'failed'; readonly failure: Failure }

const CHAIN_LENGTH_MAX = 10

/** Takes the socket over; on failure it is destroyed. */
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
  // Also not in the brackets of mail.
  const isName = name !== undefined && isIP(name) === 0 && !name.startsWith('[')
  return new Promise((resolve) => {
    const socket = connect({
      socket: plain,
      secureContext: contextFor(options.trustedCertificates),
      rejectUnauthorized: tls.kind === 'verified',
      // An address is no name for SNI (RFC 6066 §3); as the host it is still checked.
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
    // Stays: later errors are heard by whoever reads the socket, and settling twice changes nothing.
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
