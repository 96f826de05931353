// The tool that looks for mail.

import { z } from 'zod'
import { fence, oneLine } from '#fence.ts'
import { counted, defineTool, inbox, lines, moreOf, pageLimit, pageOffset } from './tool.ts'

const LIST_MAX = 50
const LIST_DEFAULT = 10
const QUERY_LENGTH_MAX = 500
const ADDRESS_LENGTH_MAX = 100

const UNFINISHED =
  'Not everything has been searched yet. The same search a few seconds later goes further.'

export const searchMail = defineTool({
  name: 'search_mail',
  title: 'Search mail',
  description:
    'Search mail, received and sent, of all inboxes or of one, by subject, addresses and text. All words must occur. "a phrase", -without, from:, to:, subject: and beginning* are understood.',
  input: {
    inbox: inbox.describe('Only this inbox, by its id or address; all inboxes when left out.'),
    query: z.string().min(1).max(QUERY_LENGTH_MAX).describe('What to look for.'),
    sort: z.enum(['newest', 'rank']).default('newest').describe('Newest or best match first.'),
    direction: z.enum(['inbound', 'outbound']).optional().describe('Only received or sent mail.'),
    limit: pageLimit(LIST_MAX, LIST_DEFAULT),
    offset: pageOffset,
  },
  isReading: true,
  isOpenWorld: false,
  async run({ inbox: named, query, ...asked }, { access, signal }) {
    const only = named === undefined ? await access.only() : await access.inbox(named)
    const place = only === null ? 'all inboxes' : only.address
    const found = access.client.messages.search({
      q: query,
      ...asked,
      ...(only !== null && { inboxId: only.id }),
      signal,
    })
    const { data, total, totalIsExact, isComplete } = await found.page()
    if (data.length === 0) {
      const none = total === 0 ? 'Nothing' : 'Nothing more'
      return lines(
        `${none} in ${place} matches. Fewer or shorter words (or the beginning of one with *) find more.`,
        isComplete ? '' : UNFINISHED,
      )
    }
    const rows = data.map(({ messageId, threadId, direction, createdAt, ...mail }) => {
      const other = direction === 'inbound' ? `from ${mail.fromAddr}` : `to ${mail.toAddr}`
      return lines(
        `- ${messageId} · ${threadId}${only === null ? ` · ${mail.inboxId}` : ''} · ${createdAt} · ${oneLine(other, ADDRESS_LENGTH_MAX)} · ${oneLine(mail.subject) || '(no subject)'}`,
        `  ${oneLine(mail.snippet)}`.trimEnd(),
      )
    })
    return lines(
      `${totalIsExact ? '' : 'At least '}${counted(total, 'match', 'matches')} in ${place}, ${data.length} here (message, thread, ${only === null ? 'inbox, ' : ''}time, who, subject, snippet):`,
      fence(rows.join('\n')),
      moreOf(data.length, asked.offset, total),
      isComplete ? '' : UNFINISHED,
    )
  },
})
