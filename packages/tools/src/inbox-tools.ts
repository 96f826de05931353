import type { InboxLimits } from '@mailroom/sdk'
import { z } from 'zod'
import { fence, oneLine } from '#fence.ts'
import { counted, defineTool, inbox, lines, moreOf, pageLimit, pageOffset } from './tool.ts'

export const listInboxes = defineTool({
  name: 'list_inboxes',
  scope: 'mail:read',
  title: 'List inboxes',
  description:
    'List your inboxes (email addresses), newest first, with their ids and how many threads are unread.',
  input: { limit: pageLimit(), offset: pageOffset },
  isReading: true,
  isOpenWorld: false,
  async run({ limit, offset }, { access, signal }) {
    const ids = await access.inboxIds()
    if (ids?.length === 1) {
      const only = await access.inbox(undefined)
      return `You can use one inbox: ${only.address} (${only.id}). It is used if inbox is omitted.`
    }
    const { data, seen, total } = await access.inboxes({ limit, offset, signal })
    if (total === 0) {
      return ids === null
        ? 'There is no inbox yet. Create one (create_inbox), or ask the person for one.'
        : 'None of the inboxes of this connection exists any more.'
    }
    const rows = data.map(({ id, address, unreadThreads, lastMessageAt }) => {
      const newest = lastMessageAt === null ? 'no mail yet' : `newest mail ${lastMessageAt}`
      return `- ${address} · ${id} · ${counted(unreadThreads, 'unread thread')} · ${newest}`
    })
    // Display names are fenced, because an agent may have copied them from mail.
    const names = data.flatMap(({ address, displayName }) =>
      displayName === null ? [] : [`- ${address} · ${oneLine(displayName)}`],
    )
    return lines(
      total === 1 ? 'One inbox:' : `${total} inboxes, ${data.length} here:`,
      rows.join('\n'),
      names.length === 0 ? '' : lines('Names that recipients see:', fence(names.join('\n'))),
      moreOf(seen, offset, ids?.length ?? total),
    )
  },
})

export const createInbox = defineTool({
  name: 'create_inbox',
  scope: 'mail:organise',
  title: 'Create an inbox',
  description:
    'Create an inbox (email address) that receives mail immediately. Omit all arguments for a random address.',
  input: {
    mailbox_name: z
      .string()
      .max(64)
      .optional()
      .describe('The part before the @: 3 to 30 of a-z, 0-9, dots and hyphens.'),
    display_name: z.string().max(200).optional().describe('Name that recipients see.'),
    domain: z.string().max(255).optional().describe('A verified domain of the account.'),
  },
  values: ['inbox_id', 'address'],
  isReading: false,
  isOpenWorld: false,
  isOfAccount: true,
  async run({ mailbox_name: mailboxName, display_name: displayName, domain }, { access, signal }) {
    const wanted = { mailboxName, displayName, domain }
    const { id, address } = await access.client.inboxes.create(wanted, { signal })
    const text = `Created the inbox ${address} (${id}). It receives mail from now on.`
    return { text, values: { inbox_id: id, address } }
  },
})

export const getLimits = defineTool({
  name: 'get_limits',
  scope: 'mail:read',
  title: 'See how much may still be sent',
  description:
    'Show how many messages an inbox may still send, and to how many people who have never written to it. Call it before a series of messages.',
  input: { inbox },
  isReading: true,
  isOpenWorld: false,
  async run({ inbox: named }, { access, signal }) {
    const { id, address } = await access.inbox(named)
    const limits = await access.client.inboxes.limits(id, { signal })
    const rows = LIMITS.map(({ name, text }) => `- ${text}: ${tellLimit(limits[name])}`)
    return lines(`What ${address} may still send:`, ...rows)
  },
})

const LIMITS: readonly { name: keyof InboxLimits; text: string }[] = [
  { name: 'sendsPerMinute', text: 'messages in any minute' },
  { name: 'sendsPerDay', text: 'messages in any 24 hours' },
  { name: 'coldRecipientsPerDay', text: 'people per day who have never written to this inbox' },
  { name: 'accountColdRecipientsPerDay', text: 'the same over all inboxes of the account' },
]

function tellLimit({ limit, remaining, resetsAt }: InboxLimits['sendsPerDay']): string {
  if (limit === null) return 'no limit'
  const more = resetsAt === null ? '' : `, more from ${resetsAt} on`
  return `${remaining} of ${limit} left${more}`
}
