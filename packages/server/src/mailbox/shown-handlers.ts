// Handlers of messages as people are shown them: the page, and the images of other hosts in it.

import type { Handlers } from '#http/handler.ts'
import type { Clock } from '#platform/clock.ts'
import type { HttpGet } from '#platform/egress/http-get.ts'
import type { Semaphore } from '#platform/semaphore.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { fetchImage } from './fetch-image.ts'
import { showMessage } from './show-message.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  parser: Parser
  urlKey: Uint8Array
  deriveKey: (purpose: string) => Uint8Array
  getImage: HttpGet
  imageFetches: Semaphore
}

type ShownHandlers = Pick<Handlers, 'messages.html' | 'messages.image'>

/** One handler for each. */
export function shownHandlers(deps: Needs): ShownHandlers {
  return {
    'messages.html': async ({ path, query }, { accountId, takeSlot }) => {
      const showsRemote = query.images === 'show'
      const asked = { accountId, messageId: path.id, showsRemote, beforeLong: takeSlot }
      const { document, blockedCount } = await showMessage(deps, asked)
      return {
        headers: { ...PAGE_HEADERS, 'x-blocked-images': String(blockedCount) },
        content: document,
      }
    },
    'messages.image': async ({ path, query }) => {
      const { content, contentType } = await fetchImage(deps, {
        messageId: path.id,
        url: query.url,
        expires: query.expires,
        signature: query.signature,
      })
      return {
        headers: {
          ...IMAGE_HEADERS,
          'content-type': contentType,
          'content-length': String(content.length),
        },
        content,
      }
    },
  }
}

/**
 * The sandbox holds wherever the page is opened. What a frame may do is what both it and this allow: links
 * open new windows, and nothing else.
 */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
  'cache-control': 'private, no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'x-dns-prefetch-control': 'off',
  'x-robots-tag': 'noindex, nofollow',
}

const IMAGE_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'content-disposition': 'inline',
  'cache-control': 'private, max-age=900',
  'referrer-policy': 'no-referrer',
  // The page that shows it is of no origin, being sandboxed; whoever has the address may have the image.
  'cross-origin-resource-policy': 'cross-origin',
}
