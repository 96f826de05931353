// Tools that list, read and search mail, and the tool that marks a thread.

import type { Inbox, Thread } from '@mailroom/sdk'
import { z } from 'zod'
import type { Access } from '#access.ts'
import { fence, oneLine } from '#fence.ts'
import {
  charOffset,
  counted,
  defineTool,
  id,
  inbox,
  LISTS_MAX,
  leaseToken,
  lines,
  maxChars,
  mergedPage,
  moreOf,
  pageLimit,
  pageOffset,
  type Range,
} from './tool.ts'

export const listUnread = defineTool({
  name: 'list_unread',
  scope: 'mail:read',
  title: 'List unread mail',
  description:
    'List the threads with unread mail, newest first, with participants and the beginning of the newest message. Mark a thread as read once you have handled it.',
  input: {
    inbox: inbox.describe('Id or address; all inboxes if omitted.'),
    include_read: z.boolean().default(false).describe('Also read threads.'),
    limit: pageLimit(),
    offset: pageOffset,
  },
  isReading: true,
  isOpenWorld: false,
  async run({ inbox: named, include_read, limit, offset }, { access, signal }) {
    const { inboxes, total: inboxTotal } = await inboxesOf(access, named, signal)
    const [first] = inboxes
    const isOne = first !== undefined && inboxes.length === 1
    const state = { ...(include_read ? {} : { is_read: false }), signal }
    const lists = inboxes.map((one) => async (range: Range) => {
      const { data, total } = await access.client.threads
        .list(one.id, { ...range, ...state })
        .page()
      return { total, data: data.map((thread) => ({ thread, address: one.address })) }
    })
    const { data: newest, total } = await mergedPage(lists, { limit, offset }, (a, b) =>
      a.thread.lastMessageAt < b.thread.lastMessageAt ? 1 : -1,
    )
    const kind = include_read ? 'thread' : 'unread thread'
    const where = isOne ? ` in ${first.address}` : ''
    const passedOver =
      inboxTotal > inboxes.length
        ? `Only the newest ${inboxes.length} of ${inboxTotal} inboxes are included; choose another one with inbox.`
        : ''
    if (newest.length === 0) {
      const none = total === 0 ? `No ${kind}s${where}.` : `No more ${kind}s${where}.`
      return lines(none, passedOver)
    }
    return lines(
      `${counted(total, kind)}${where}, ${newest.length} here:`,
      isOne ? '' : placesOf(newest),
      fence(newest.map(({ thread }) => rowOf(thread)).join('\n')),
      moreOf(newest.length, offset, total),
      passedOver,
    )
  },
})

async function inboxesOf(
  access: Access,
  named: string | undefined,
  signal: AbortSignal,
): Promise<{ inboxes: readonly Inbox[]; total: number }> {
  if (named !== undefined) return { inboxes: [await access.inbox(named)], total: 1 }
  const { data, total } = await access.inboxes({ limit: LISTS_MAX, offset: 0, signal })
  return { inboxes: data, total }
}

/** The inbox of each thread. These are the service's own words, so they need no fence. */
function placesOf(rows: readonly { thread: Thread; address: string }[]): string {
  const idsIn = (wanted: string) =>
    rows.filter(({ address }) => address === wanted).map(({ thread }) => thread.id)
  return [...new Set(rows.map(({ address }) => address))]
    .map((address) => `In ${address}: ${idsIn(address).join(', ')}`)
    .join('\n')
}

const NAMED_MAX = 3
const PARTICIPANT_LENGTH_MAX = 100

function rowOf(thread: Thread): string {
  const {
    id: threadId,
    subject,
    lastMessageAt,
    messageCount,
    unreadCount,
    isRead,
    category,
  } = thread
  const parts = [
    threadId,
    lastMessageAt,
    counted(messageCount, 'message'),
    isRead ? 'read' : `${unreadCount} unread`,
    category ?? '',
    whoOf(thread),
    oneLine(subject) || '(no subject)',
  ]
  const row = `- ${parts.filter((part) => part !== '').join(' · ')}`
  return lines(row, thread.snippet === '' ? '' : `  ${oneLine(thread.snippet)}`)
}

function whoOf({ participants }: Thread): string {
  const named = participants
    .slice(0, NAMED_MAX)
    .map(({ name, address }) =>
      oneLine(name === null ? address : `${name} <${address}>`, PARTICIPANT_LENGTH_MAX),
    )
  const others = participants.length - named.length
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join(', ')
}

const unfold = z
  .boolean()
  .default(false)
  .describe('Show all quoted history; the same for every page.')

export const readThread = defineTool({
  name: 'read_thread',
  scope: 'mail:read',
  title: 'Read a thread',
  description:
    'Read a conversation as text: the senders, whether they are verified, the messages and the names of their attachments. Hidden text is removed and quoted history folded. Does not mark it as read.',
  input: {
    thread_id: id('The thread (thr_…).'),
    max_chars: maxChars,
    offset: charOffset,
    unfold,
  },
  isReading: true,
  isOpenWorld: false,
  async run({ thread_id: threadId, max_chars, offset, unfold: isUnfolded }, { access, signal }) {
    await access.thread(threadId)
    const asked = { maxChars: max_chars, offset, unfold: isUnfolded, signal }
    const view = access.client.threads.view(threadId, asked)
    return shown(await view, 'read_thread')
  },
})

export const readMessage = defineTool({
  name: 'read_message',
  scope: 'mail:read',
  title: 'Read a message',
  description:
    'Read one message as text: the important headers, whether the sender is verified, the body and the names of the attachments. Hidden text is removed and quoted history folded.',
  input: {
    message_id: id('The message (msg_…).'),
    max_chars: maxChars,
    offset: charOffset,
    unfold,
  },
  isReading: true,
  isOpenWorld: false,
  async run({ message_id: messageId, max_chars, offset, unfold: isUnfolded }, { access, signal }) {
    await access.message(messageId)
    const asked = { maxChars: max_chars, offset, unfold: isUnfolded, signal }
    const view = access.client.messages.view(messageId, asked)
    return shown(await view, 'read_message')
  },
})

type View = { text: string; totalChars: number; nextOffset: number | null }

/** The service has already fenced untrusted text. */
function shown({ text, nextOffset }: View, tool: string): string {
  if (nextOffset === null) return text
  return lines(text, `This is not all. Call ${tool} again with offset ${nextOffset} for the rest.`)
}

export const markThread = defineTool({
  name: 'mark_thread',
  scope: 'mail:organise',
  title: 'Mark a thread as read or unread',
  description:
    'Mark a thread as read once it is handled, so that list_unread omits it, or as unread. A reply marks it as read; new mail makes it unread.',
  input: {
    thread_id: id('The thread (thr_…).'),
    state: z.enum(['read', 'unread']).describe('The new state.'),
    lease_token: leaseToken.optional(),
  },
  isReading: false,
  isIdempotent: true,
  isOpenWorld: false,
  async run({ thread_id: threadId, state }, { access, signal }) {
    await access.thread(threadId)
    await access.client.threads.update(threadId, { is_read: state === 'read' }, { signal })
    return `Thread ${threadId} is ${state} now.`
  },
})

export const deleteThread = defineTool({
  name: 'delete_thread',
  scope: 'mail:organise',
  title: 'Move a thread to the trash',
  description:
    'Move a thread to the trash, which lists and searches exclude. A person can restore it for 30 days. Only for mail that is no longer needed; mark handled mail as read instead.',
  input: { thread_id: id('The thread (thr_…).') },
  isReading: false,
  isDestructive: true,
  isIdempotent: true,
  isOpenWorld: false,
  async run({ thread_id: threadId }, { access, signal }) {
    await access.thread(threadId)
    await access.client.threads.delete(threadId, { signal })
    return `Thread ${threadId} is in the trash now. It is removed after 30 days unless a person restores it.`
  },
})

const FOUND_DEFAULT = 10
const QUERY_LENGTH_MAX = 500
const ADDRESS_LENGTH_MAX = 100

const UNFINISHED = 'Not all mail has been searched yet. Repeat the search in a few seconds.'

export const searchMail = defineTool({
  name: 'search_mail',
  scope: 'mail:read',
  title: 'Search mail',
  description:
    'Search received and sent mail by subject, addresses and text. All parts must match: words, "a phrase", beginning*, -without, this OR that (`a b OR c` is a, and b or c), (groups), from:, to:, subject:, label:, has:attachment, before:2026-05-31, after:2026-05-31 (UTC, with that day).',
  input: {
    inbox: inbox.describe('Id or address; all inboxes if omitted.'),
    query: z.string().min(1).max(QUERY_LENGTH_MAX).describe('The search query.'),
    sort: z.enum(['newest', 'rank']).default('newest').describe('The order.'),
    direction: z
      .enum(['inbound', 'outbound'])
      .optional()
      .describe('Only received or only sent mail.'),
    limit: pageLimit(undefined, FOUND_DEFAULT),
    offset: pageOffset,
  },
  isReading: true,
  isOpenWorld: false,
  async run({ inbox: named, query, ...asked }, { access, signal }) {
    const only = await access.onlyOf(named)
    const place = only === null ? 'all inboxes' : only.address
    const found = await search(access, { q: query, ...asked, inbox: only, signal })
    const { data, total, totalIsExact, isComplete, unsearched } = found
    if (data.length === 0) {
      const none = total === 0 ? 'Nothing' : 'Nothing more'
      return lines(
        `${none} in ${place} matches. Use fewer or shorter words, or the beginning of one with *, to find more.`,
        isComplete ? '' : UNFINISHED,
        unsearched,
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
      unsearched,
    )
  },
})

type Searching = {
  readonly q: string
  readonly sort: 'newest' | 'rank'
  readonly direction?: 'inbound' | 'outbound' | undefined
  readonly limit: number
  readonly offset: number
  readonly signal: AbortSignal
}

/** Searches one inbox, or all inboxes of the connection. */
async function search(
  access: Access,
  { inbox: only, limit, offset, ...asked }: Searching & { readonly inbox: Inbox | null },
) {
  const { messages } = access.client
  const ids = only === null ? await access.inboxIds() : [only.id]
  const wanted = ids === null ? [{}] : ids.slice(0, LISTS_MAX).map((inboxId) => ({ inboxId }))
  let totalIsExact = true
  let isComplete = true
  const lists = wanted.map((of) => async (range: Range) => {
    const page = await messages.search({ ...asked, ...of, ...range }).page()
    totalIsExact &&= page.totalIsExact === true
    isComplete &&= page.isComplete === true
    return { total: page.total, data: page.data.map((hit, rank) => ({ hit, rank })) }
  })
  // Ranks of different searches cannot be compared, so the best of each inbox come first.
  const { data, total } = await mergedPage(lists, { limit, offset }, (a, b) => {
    const byRank = asked.sort === 'rank' ? a.rank - b.rank : 0
    return byRank || (a.hit.createdAt < b.hit.createdAt ? 1 : -1)
  })
  const unsearched =
    ids !== null && ids.length > LISTS_MAX
      ? `Only ${LISTS_MAX} of ${ids.length} inboxes were searched; choose another one with inbox.`
      : ''
  return { data: data.map(({ hit }) => hit), total, totalIsExact, isComplete, unsearched }
}
