// What a search in an inbox finds.

import { type Static, Type } from '#schema.ts'
import { messageDirections } from '#vocabulary.ts'
import { oneOf, text, time } from './text.ts'

export const SEARCH_COUNTED_MAX = 1_000
export const SEARCH_QUERY_LENGTH_MAX = 500

const Highlight = Type.Object({
  start: Type.Integer({ minimum: 0, description: 'The first code point of the snippet.' }),
  end: Type.Integer({ minimum: 0, description: 'The code point behind the last.' }),
})

export const SearchHit = Type.Object(
  {
    messageId: text('The message that was found.'),
    threadId: text('The thread that it belongs to.'),
    inboxId: text('The inbox that was searched.'),
    direction: oneOf(messageDirections, 'Whether the inbox received or sent the message.'),
    fromAddr: text('The sender, "Name <address>" or the bare address.'),
    toAddr: text('Inbound: the address of the inbox. Outbound: the primary recipient.'),
    subject: text('Empty when the message has none.'),
    createdAt: time('When the message was received or accepted for sending.'),
    snippet: text(
      'Up to 200 code points on one line, around what was found in the text, or else in the subject or the addresses. Written by whoever wrote the message.',
    ),
    highlights: Type.Array(Highlight, {
      description: 'What was found in the snippet, in order, in Unicode code points.',
    }),
  },
  { description: 'A message that a search found.' },
)
export type SearchHit = Static<typeof SearchHit>

export const SearchResult = Type.Object(
  {
    data: Type.Array(SearchHit, { description: 'This page of what was found.' }),
    total: Type.Integer({
      minimum: 0,
      description: `Number of messages found over all pages, counted up to ${SEARCH_COUNTED_MAX}.`,
    }),
    totalIsExact: Type.Boolean({
      description: 'False where there are, or may be, more than total says.',
    }),
    isComplete: Type.Boolean({
      description:
        'False where the search had to end before it had looked through all of the inbox; the same search a little later looks further.',
    }),
  },
  { description: 'A page of what a search found.' },
)
export type SearchResult = Static<typeof SearchResult>
