// Serves the documentation: pages below /docs, and texts for language models below /llms.

import { llmsTopics } from '@mailroom/contract/llms.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { precompressed } from '#http/answer.ts'
import { problem } from '#platform/problem.ts'
import { readImage } from './guides.ts'
import { type DocsSite, openDocsSite, pagePolicy } from './site.ts'

export const DOCS_PATH = '/docs'

const CACHE_CONTROL = 'public, max-age=300'
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy,
  'referrer-policy': 'no-referrer',
  'cache-control': CACHE_CONTROL,
}
/** Programs load them from pages of other origins. */
const MARKDOWN = {
  'content-type': 'text/markdown; charset=utf-8',
  'access-control-allow-origin': '*',
  'cache-control': CACHE_CONTROL,
}

type Content = { readonly text: string; readonly headers: Readonly<Record<string, string>> }

/** Opens the site when it is first requested, because `publicUrl` is final only then. */
export function openDocs(publicUrl: () => string): () => DocsSite {
  let opened: DocsSite | undefined
  return () => {
    opened ??= openDocsSite(publicUrl())
    return opened
  }
}

/** Must be called once, before the server listens. The page DOCS_PATH is an operation of the API. */
export function addDocs(app: FastifyInstance, publicUrl: () => string, site: () => DocsSite): void {
  const made = new Map<string, ReturnType<typeof precompressed>>()
  let topics: Map<string, string> | undefined
  const contentOf = (path: string): Content | null => {
    if (path.startsWith('/llms/')) {
      topics ??= llmsTopics({ publicUrl: publicUrl() })
      const text = topics.get(path.slice('/llms/'.length))
      return text === undefined ? null : { text, headers: MARKDOWN }
    }
    if (path.endsWith('.md')) {
      const text = site().markdown(path.slice('/docs/'.length, -'.md'.length))
      return text === null ? null : { text, headers: MARKDOWN }
    }
    const text = site().page(path)
    return text === null ? null : { text, headers: PAGE_HEADERS }
  }
  const send = async (request: FastifyRequest, reply: FastifyReply) => {
    const path = (request.raw.url ?? '').split('?', 1)[0] ?? ''
    if (path === '/docs/search') {
      const { q } = request.query as { q?: string | string[] }
      return sendText(request, reply, {
        text: site().search([q ?? ''].flat().join(' ')),
        headers: PAGE_HEADERS,
      })
    }
    const image = path.startsWith('/docs/images/') ? readImage(path.slice('/docs/'.length)) : null
    if (image !== null) {
      return reply
        .headers({ 'content-type': 'image/png', 'cache-control': CACHE_CONTROL })
        .send(request.method === 'HEAD' ? undefined : Buffer.from(image))
    }
    let respond = made.get(path)
    if (respond === undefined) {
      const content = contentOf(path)
      if (content === null) throw problem('not_found')
      respond = precompressed(content.text, content.headers)
      made.set(path, respond)
    }
    const { headers, content } = await respond(request)
    reply.headers(headers)
    return request.method === 'HEAD' ? reply.send() : reply.send(content)
  }
  for (const url of [`${DOCS_PATH}/*`, '/llms/*']) {
    app.route({ method: ['GET', 'HEAD'], url, config: { shownPath: url }, handler: send })
  }
}

function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, headers }: Content,
): FastifyReply {
  reply.headers(headers)
  return request.method === 'HEAD' ? reply.send() : reply.send(text)
}
