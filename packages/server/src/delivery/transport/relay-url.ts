// `smtp[s]://user:password@host:port` as the parts that a connection needs. Its texts never show the
// URL, since the password is in it.

import { domainToASCII } from 'node:url'
import type { Credentials } from '@mailroom/smtp/client/smtp-client.ts'

export type Relay = {
  /** A name in lower-case A-labels or an IP address, without brackets. */
  readonly host: string
  /** 465 for `smtps`, 587 for `smtp` (RFC 6409, RFC 8314) unless the URL has one. */
  readonly port: number
  readonly isTlsImplicit: boolean
  readonly credentials: Credentials | null
}

/** Throws when it is no such URL. */
export function readRelayUrl(text: string): Relay {
  const url = URL.parse(text)
  const isTlsImplicit = url?.protocol === 'smtps:'
  const host = hostOf(url?.hostname ?? '')
  if (url === null || host === '' || (!isTlsImplicit && url.protocol !== 'smtp:')) {
    throw new Error('The relay is not given as smtp[s]://user:password@host:port.')
  }
  const user = decode(url.username)
  return {
    host,
    port: url.port === '' ? (isTlsImplicit ? 465 : 587) : Number(url.port),
    isTlsImplicit,
    credentials: user === '' ? null : { user, password: decode(url.password) },
  }
}

function hostOf(hostname: string): string {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return domainToASCII(decode(hostname)).replace(/\.$/, '')
}

/** A percent sign that encodes nothing stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
