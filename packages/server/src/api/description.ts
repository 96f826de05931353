// The contract as the door shows it: the OpenAPI document and the pages made of it, each made once,
// when first asked for.

import { llmsFullText, llmsText } from '@mailroom/contract/llms.ts'
import { openApiDocument } from '@mailroom/contract/openapi.ts'
import { precompressed } from '#http/answer.ts'
import type { Context, ServerOperationId } from '#http/handler.ts'
import { docsPage, docsPolicy } from './docs-page.ts'
import type { AnyHandler } from './route.ts'

type DescriptionId = Extract<ServerOperationId, `service.${string}`>

const CACHE_CONTROL = 'public, max-age=300'

/** `publicUrl` gives the base that callers put before every path; asked when it is first needed. */
export function descriptionHandlers(publicUrl: () => string): Record<DescriptionId, AnyHandler> {
  return {
    'service.openapi': madeOnce(() => JSON.stringify(openApiDocument({ publicUrl: publicUrl() })), {
      'content-type': 'application/json; charset=utf-8',
      ...FOR_ALL_ORIGINS,
    }),
    'service.docs': madeOnce(() => docsPage(publicUrl()), {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': docsPolicy,
      'referrer-policy': 'no-referrer',
    }),
    'service.llms': madeOnce(() => llmsText({ publicUrl: publicUrl() }), PLAIN_TEXT),
    'service.llmsFull': madeOnce(() => llmsFullText({ publicUrl: publicUrl() }), PLAIN_TEXT),
  }
}

/** Generators and editors read descriptions from pages of other origins. */
const FOR_ALL_ORIGINS = { 'access-control-allow-origin': '*' }
const PLAIN_TEXT = { 'content-type': 'text/plain; charset=utf-8', ...FOR_ALL_ORIGINS }

function madeOnce(make: () => string, headers: Readonly<Record<string, string>>): AnyHandler {
  let respond: ReturnType<typeof precompressed> | undefined
  return (_input, context) => {
    respond ??= precompressed(make(), { ...headers, 'cache-control': CACHE_CONTROL })
    return respond(context as Context)
  }
}
