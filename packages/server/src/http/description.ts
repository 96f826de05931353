// The contract as the door shows it: the OpenAPI document and the pages made of it, each made once,
// when first asked for.

import { llmsText } from '@mailroom/contract/llms-text.ts'
import { openApiDocument } from '@mailroom/contract/openapi.ts'
import { docsPage } from './docs-page.ts'
import type { BinaryResponse, DoorOperationId } from './handler.ts'
import type { AnyHandler } from './route.ts'

type DescriptionId = Extract<DoorOperationId, `service.${string}`>

const CACHE_CONTROL = 'public, max-age=300'

/** `publicUrl` gives the base that callers put before every path; asked when it is first needed. */
export function descriptionHandlers(publicUrl: () => string): Record<DescriptionId, AnyHandler> {
  let openApi: BinaryResponse | undefined
  let docs: BinaryResponse | undefined
  let llms: BinaryResponse | undefined
  return {
    'service.openapi': () => {
      openApi ??= {
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'cache-control': CACHE_CONTROL,
          // Generators and editors read it from pages of other origins.
          'access-control-allow-origin': '*',
        },
        content: JSON.stringify(openApiDocument({ publicUrl: publicUrl() }), null, 2),
      }
      return openApi
    },
    'service.docs': () => {
      docs ??= {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'cache-control': CACHE_CONTROL,
          'content-security-policy':
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          'referrer-policy': 'no-referrer',
        },
        content: docsPage(publicUrl()),
      }
      return docs
    },
    'service.llms': () => {
      llms ??= {
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'cache-control': CACHE_CONTROL,
          'access-control-allow-origin': '*',
        },
        content: llmsText({ publicUrl: publicUrl() }),
      }
      return llms
    },
  }
}
