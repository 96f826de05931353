// Handlers of views: mail as a model reads it. What makes them is loaded with the first view.

import type { ViewQuery } from '@mailroom/contract/shapes/message.ts'
import type { ViewPage } from '@mailroom/mail-reading/view/view-page.ts'
import type { BinaryResponse, Handlers } from '#http/handler.ts'
import type { Chance } from '#platform/chance.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import type { ViewOptions } from './view-mail.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  chance: Chance
  parser: Parser
}

/** One handler for each operation that answers with a view. */
export function viewHandlers(deps: Needs): Pick<Handlers, 'messages.view' | 'threads.view'> {
  return {
    'messages.view': async ({ path, query }, { accountId, takeSlot }) => {
      await takeSlot('view')
      const { viewMessage } = await import('./view-mail.ts')
      const asked = { ...optionsOf(query, accountId), messageId: path.id }
      return presentView(await viewMessage(deps, asked))
    },
    'threads.view': async ({ path, query }, { accountId, takeSlot }) => {
      await takeSlot('view')
      const { viewThread } = await import('./view-mail.ts')
      const asked = { ...optionsOf(query, accountId), threadId: path.id }
      return presentView(await viewThread(deps, asked))
    },
  }
}

function optionsOf(query: ViewQuery, accountId: string): ViewOptions {
  const { max_chars: maxChars, offset, links, unfold } = query
  return {
    accountId,
    maxChars,
    offset,
    hasFullLinks: links === 'full',
    isUnfolded: unfold === true,
  }
}

function presentView({ text, totalChars, nextOffset }: ViewPage): BinaryResponse {
  return {
    headers: {
      'content-type': 'text/markdown; charset=utf-8',
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
      'x-view-total-chars': String(totalChars),
      ...(nextOffset === null ? {} : { 'x-view-next-offset': String(nextOffset) }),
    },
    content: text,
  }
}
