// What a browser says about where a request comes from, and whether that is the service itself: for
// callers whom a cookie brings along without their doing.

import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { CSRF_HEADER } from '@mailroom/contract/vocabulary.ts'
import { problem } from '#platform/problem.ts'

/**
 * Throws `forbidden_origin` for a request that another site's page has made, by its `Sec-Fetch-Site`
 * (W3C Fetch Metadata §2.3) or its `Origin` (RFC 6454 §7). What is neither is let in, for programs and
 * old browsers send neither, unless `mustTell`.
 */
export function requireOwnOrigin(
  headers: IncomingHttpHeaders,
  { publicUrl, mustTell = false }: { publicUrl: string; mustTell?: boolean },
): void {
  const saysNothing = mustTell && headers.origin === undefined
  if (saysNothing || isForeignPage(headers, publicUrl)) throw problem('forbidden_origin')
}

/** Whether a browser says that a page of another site makes this request. */
export function isForeignPage(headers: IncomingHttpHeaders, publicUrl: string): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers
  if (site === 'cross-site' || site === 'same-site') return true
  return origin !== undefined && !isOwn(origin, host, publicUrl)
}

/** Throws `invalid_csrf_token` unless the header holds the session's. */
export function requireCsrfToken(headers: IncomingHttpHeaders, csrfToken: string): void {
  const given = Buffer.from(String(headers[CSRF_HEADER.toLowerCase()] ?? ''))
  const expected = Buffer.from(csrfToken)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw problem('invalid_csrf_token')
  }
}

/**
 * The public URL's, or that of the host that the request was sent to, under either scheme: TLS may end at
 * a proxy before us. A page in the clear is none of ours where the public URL is https at that name.
 */
function isOwn(origin: string, host: string | undefined, publicUrl: string): boolean {
  if (!URL.canParse(origin) || !/^https?:\/\//i.test(origin)) return false
  const { host: from, hostname, protocol } = new URL(origin)
  const ours = new URL(publicUrl)
  if (hostname === ours.hostname && ours.protocol === 'https:' && protocol === 'http:') return false
  if (from === ours.host) return true
  // The Host field may name the scheme's own port, which an origin leaves out.
  return URL.canParse(`${protocol}//${host}`) && from === new URL(`${protocol}//${host}`).host
}
