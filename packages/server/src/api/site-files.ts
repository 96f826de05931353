// The standard files of a web server: a health probe, robots.txt and security.txt.

import type { FastifyInstance } from 'fastify'
import type { Clock } from '#platform/clock.ts'
import { DAY_MS } from '#platform/units.ts'

/** RFC 9116 §2.5.5 recommends less than a year. The file is made for each request, so it never expires. */
const SECURITY_TXT_DAYS = 90

export type SiteFilesOptions = {
  /** The operator's address, which every mail server has (RFC 5321 §4.5.1). */
  readonly inboxDomain: string
  readonly publicUrl: () => string
  readonly clock: Clock
}

/** They answer before the service has started. */
export const SITE_PATHS = ['/healthz', '/robots.txt', '/.well-known/security.txt'] as const

/** Must be called once, before the server listens. */
export function addSiteFiles(app: FastifyInstance, options: SiteFilesOptions): void {
  const texts: Record<(typeof SITE_PATHS)[number], () => string> = {
    '/healthz': () => 'ok\n',
    '/robots.txt': () => 'User-agent: *\nDisallow: /\n',
    '/.well-known/security.txt': () => securityText(options),
  }
  for (const path of SITE_PATHS) {
    app.route({
      method: ['GET', 'HEAD'],
      url: path,
      config: { shownPath: path },
      handler: async (_request, reply) =>
        reply
          .headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' })
          .send(texts[path]()),
    })
  }
}

/** RFC 9116. */
function securityText({ inboxDomain, publicUrl, clock }: SiteFilesOptions): string {
  const expires = new Date(clock.now() + SECURITY_TXT_DAYS * DAY_MS)
  return [
    `Contact: mailto:postmaster@${inboxDomain}`,
    `Expires: ${expires.toISOString()}`,
    `Canonical: ${publicUrl()}/.well-known/security.txt`,
    'Preferred-Languages: en',
    '',
  ].join('\n')
}
