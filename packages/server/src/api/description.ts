// The OpenAPI document, the texts for language models and the first page of the documentation.

import { llmsFullText, llmsText } from '@mailroom/contract/llms.ts'
import { openApiDocument } from '@mailroom/contract/openapi.ts'
import { precompressed } from '#http/answer.ts'
import type { Context, ServerOperationId } from '#http/handler.ts'
import { programVersion } from '#platform/program-version.ts'
import { DOCS_PATH, PAGE_HEADERS } from './docs/docs.ts'
import type { DocsSite } from './docs/site.ts'
import type { AnyHandler } from './routes.ts'

type DescriptionId = Extract<ServerOperationId, `service.${string}`>

const CACHE_CONTROL = 'public, max-age=300'

export function descriptionHandlers(
  publicUrl: () => string,
  docs: () => DocsSite,
): Record<DescriptionId, AnyHandler> {
  return {
    'service.openapi': madeOnce(() => openApiText(publicUrl()), {
      'content-type': 'application/json; charset=utf-8',
      ...FOR_ALL_ORIGINS,
    }),
    'service.docs': madeOnce(() => docs().page(DOCS_PATH) ?? '', PAGE_HEADERS),
    'service.llms': madeOnce(() => llmsText({ publicUrl: publicUrl() }), PLAIN_TEXT),
    'service.llmsFull': madeOnce(() => llmsFullText({ publicUrl: publicUrl() }), PLAIN_TEXT),
  }
}

function openApiText(publicUrl: string): string {
  return JSON.stringify(openApiDocument({ publicUrl, programVersion: programVersion() }))
}

/** Generators and editors load the descriptions from pages of other origins. */
const FOR_ALL_ORIGINS = { 'access-control-allow-origin': '*' }
const PLAIN_TEXT = { 'content-type': 'text/plain; charset=utf-8', ...FOR_ALL_ORIGINS }

function madeOnce(make: () => string, headers: Readonly<Record<string, string>>): AnyHandler {
  let respond: ReturnType<typeof precompressed> | undefined
  return (_input, context) => {
    respond ??= precompressed(make(), { ...headers, 'cache-control': CACHE_CONTROL })
    return respond(context as Context)
  }
}
