// Searches and their results.

import { type Static, Type } from './schema.ts'
import { oneOf, text, time } from './text.ts'
import { messageDirections, searchSorts } from './vocabulary.ts'

const SEARCH_COUNTED_MAX = 1_000
const SEARCH_QUERY_LENGTH_MAX = 500

const Highlight = Type.Object({
  start: Type.Integer({
    minimum: 0,
    description: 'The position of the first code point of the match.',
  }),
  end: Type.Integer({
    minimum: 0,
    description: 'The position after the last code point of the match.',
  }),
})

export const SearchHit = Type.Object(
  {
    messageId: text('The matching message.'),
    threadId: text('The thread of the message.'),
    inboxId: text('The inbox of the message.'),
    direction: oneOf(messageDirections, 'Whether the inbox received or sent the message.'),
    fromAddr: text('The sender, "Name <address>" or the bare address.'),
    toAddr: text('Inbound: the address of the inbox. Outbound: the primary recipient.'),
    subject: text('Empty when the message has none.'),
    createdAt: time('When the message was received or accepted for sending.'),
    snippet: text(
      'Up to 200 code points on one line around the match in the text or an attachment. If only the subject matches, the beginning of the text; otherwise, the matching address. Written by the author of the message.',
    ),
    highlights: Type.Array(Highlight, {
      description: 'Positions of the matches in the snippet, in order, in Unicode code points.',
    }),
  },
  { description: 'A message that a search found.' },
)
export type SearchHit = Static<typeof SearchHit>

export const SearchResult = Type.Object(
  {
    data: Type.Array(SearchHit, { description: 'The matches on this page.' }),
    total: Type.Integer({
      minimum: 0,
      description: `Number of matches over all pages, counted up to ${SEARCH_COUNTED_MAX}.`,
    }),
    totalIsExact: Type.Boolean({
      description: 'False if there may be more matches than total.',
    }),
    isComplete: Type.Boolean({
      description:
        'False if the search ended before all messages were searched; repeat it a little later.',
    }),
  },
  { description: 'A page of search results.' },
)
export type SearchResult = Static<typeof SearchResult>

export const SEARCH_NOTES =
  'Finds messages by their subject, addresses and text. A message matches if it has all parts of q, in any order and any field, as whole words, ignoring case and accents. `"a phrase"` finds words next to each other, `-` before a part excludes messages, `OR` (in capitals) between two parts finds messages with either, and parentheses group parts: `a b OR c` means a, and b or c. `from:`, `to:` (with cc) and `subject:` before a word, a phrase or a parenthesis search only that field. `invo*` finds words that begin with invo. `has:attachment` finds messages with attachments. `before:2026-05-31` and `after:2026-05-31` limit the time: before that day, or from that day on, in UTC; both also accept an ISO 8601 time. Everything else in q is treated as words; `C++`, `C#` and `.NET` are words with their signs. An address matches as a whole, by its local part, by its domain or by a part of its domain; the address of the inbox itself matches only as a whole. A message can be found as soon as it has been received or accepted for sending. Only the first 64 KiB of its text are searched. With sort=rank, the newest 10,000 matches are ranked. Quarantined mail is not searched.'

export const searchProperties = {
  q: Type.String({
    minLength: 1,
    maxLength: SEARCH_QUERY_LENGTH_MAX,
    description:
      'What to search for: up to 32 parts, at least one of them without a minus sign or a condition such as has:attachment.',
  }),
  sort: Type.Optional(oneOf(searchSorts, 'Newest first (the default), or the best match first.')),
  direction: Type.Optional(oneOf(messageDirections, 'Only received or only sent messages.')),
}
