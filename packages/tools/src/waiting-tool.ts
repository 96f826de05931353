// The tool that waits for mail, and for codes and links in it.

import { type MessageCategory, messageCategories } from '@mailroom/contract/vocabulary.ts'
import type { Inbox, Message } from '@mailroom/sdk'
import { z } from 'zod'
import { fence, oneLine } from '#fence.ts'
import { type Call, defineTool, id, inbox, lines, listedAs } from './tool.ts'

const SECONDS_MAX = 60
const SECONDS_DEFAULT = 30
const PROGRESS_MS = 5_000
const TEXT_LENGTH_MAX = 200
/** Maximum messages to search for a match that arrived before the wait. */
const SEARCHED_MAX = 100
/** Poll interval while the inbox is empty. */
const POLL_MS = 5_000
const LINKS_MAX = 10
const URL_LENGTH_MAX = 2_000
const BODY_CHARS = 4_000

/** The value of `after`, in place of an id, that includes all mail in the inbox. */
const BEGINNING = 'beginning'

export const waitForMail = defineTool({
  name: 'wait_for_mail',
  scope: 'mail:read',
  title: 'Wait for mail',
  description:
    'Wait for a message to arrive, and return it with its verification codes and links. Earlier mail is ignored without after: before you cause mail, note the id of the newest message.',
  input: {
    inbox,
    from: z.string().max(TEXT_LENGTH_MAX).optional().describe('Part of the sender.'),
    subject: z.string().max(TEXT_LENGTH_MAX).optional().describe('Part of the subject.'),
    category: z
      .enum(messageCategories)
      .optional()
      .describe('Its kind; people write personal mail.'),
    thread_id: id('Its thread (thr_…).').optional(),
    timeout_seconds: z
      .int()
      .min(1)
      .max(SECONDS_MAX)
      .default(SECONDS_DEFAULT)
      .describe('Call again to wait longer.'),
    after: listedAs(z.union([z.literal(BEGINNING), id('A message or an event.')]), {
      type: 'string',
    })
      .optional()
      .describe('The id of a message: include mail since then. "beginning": include all mail.'),
    code_wanted: z
      .boolean()
      .default(false)
      .describe('Only mail with a code; return only the code.'),
  },
  isReading: true,
  isOpenWorld: false,
  async run(wanted, call) {
    const { access, signal, has } = call
    if (wanted.thread_id !== undefined) await access.thread(wanted.thread_id)
    const found = await access.inbox(wanted.inbox)
    const stop = watchProgress(call, wanted.timeout_seconds)
    try {
      return await wait(found, wanted, { access, signal, has })
    } finally {
      stop()
    }
  },
})

type Wanted = {
  from?: string | undefined
  subject?: string | undefined
  category?: MessageCategory | undefined
  thread_id?: string | undefined
  timeout_seconds: number
  after?: string | undefined
  code_wanted: boolean
}

type Filter = {
  from?: string | undefined
  subject?: string | undefined
  category?: MessageCategory | undefined
  threadId?: string | undefined
}

type Waiting = Pick<Call, 'access' | 'signal' | 'has'>

async function wait(
  found: Inbox,
  wanted: Wanted,
  { access, signal, has }: Waiting,
): Promise<string> {
  const { client } = access
  const endMs = performance.now() + wanted.timeout_seconds * 1000
  const { from, subject, category, thread_id: threadId } = wanted
  const filter = { from, subject, category, threadId }
  let after = wanted.after ?? (await newestOf(found, { access, signal, has })) ?? BEGINNING
  for (;;) {
    if (after === BEGINNING) {
      const page = client.messages.list(found.id, {
        direction: 'inbound',
        limit: SEARCHED_MAX,
        signal,
      })
      const { data } = await page.page()
      const first = data.findLast((one) => isMatch(one, filter) && isWanted(one, wanted))
      if (first !== undefined) return answer(first, wanted, { access, signal, has })
      after = data[0]?.id ?? BEGINNING
    }
    const restMs = endMs - performance.now()
    if (restMs <= 0) return nothing(found, wanted, after)
    if (after === BEGINNING) {
      // An empty inbox has no message to wait after, so its list is read again.
      const timeout = Math.ceil(Math.min(restMs, POLL_MS) / 1000)
      await client.inboxes.wait(found.id, { timeout, signal })
      continue
    }
    const message = await client.inboxes.waitForMessage(found.id, {
      ...filter,
      after,
      timeoutMs: restMs,
      signal,
    })
    if (message === null) return nothing(found, wanted, after)
    if (isWanted(message, wanted)) return answer(message, wanted, { access, signal, has })
    after = message.id
  }
}

async function newestOf({ id: inboxId }: Inbox, waiting: Waiting): Promise<string | undefined> {
  const { access, signal } = waiting
  const asked = { direction: 'inbound', limit: 1, signal } as const
  return (await access.client.messages.list(inboxId, asked).page()).data[0]?.id
}

/** Applies the filters in the same way as the service. */
function isMatch(
  message: Message,
  { from = '', subject = '', category, threadId }: Filter,
): boolean {
  return (
    (category === undefined || message.category === category) &&
    (threadId === undefined || message.threadId === threadId) &&
    message.fromAddr.toLowerCase().includes(from.toLowerCase()) &&
    message.subject.toLowerCase().includes(subject.toLowerCase())
  )
}

function isWanted(message: Message, { code_wanted }: Wanted): boolean {
  return !code_wanted || codesOf(message).length > 0
}

function nothing({ address }: Inbox, wanted: Wanted, after: string): string {
  const what = wanted.code_wanted ? 'No matching mail with a code' : 'No matching mail'
  return `${what} arrived at ${address} within ${wanted.timeout_seconds} seconds. To continue waiting without missing any, call wait_for_mail again with the same arguments and after="${after}".`
}

function codesOf({ extracted }: Message) {
  return extracted?.codes ?? []
}

async function answer(message: Message, wanted: Wanted, waiting: Waiting): Promise<string> {
  const { id: messageId, threadId, createdAt, authentication } = message
  const truth = authentication?.verifiedFrom
    ? 'the address in From is verified'
    : 'UNVERIFIED: anyone could have written this From address'
  const head = `Message ${messageId} in thread ${threadId} arrived at ${createdAt}; ${truth}.`
  const next = `To wait for the next one, call wait_for_mail with after="${messageId}".`
  const found = foundIn(message)
  if (wanted.code_wanted) {
    const [best] = codesOf(message)
    const rows = [
      `from: ${oneLine(message.fromAddr)}`,
      `subject: ${oneLine(message.subject)}`,
      `code: ${oneLine(best?.value ?? '')}`,
      ...found,
    ]
    return lines(head, fence(rows.join('\n')), restOf(message, 0, waiting), next)
  }
  const { access, signal } = waiting
  const view = await access.client.messages.view(messageId, { maxChars: BODY_CHARS, signal })
  const rest = view.nextOffset === null ? '' : restOf(message, view.nextOffset, waiting)
  const extracts =
    found.length === 0
      ? ''
      : lines('Codes and links found in it, verbatim:', fence(found.join('\n')))
  return lines(head, extracts, view.text, rest, next)
}

function restOf({ id: messageId, threadId }: Message, offset: number, { has }: Waiting): string {
  if (!has('read_message')) return `For the rest, call read_thread with thread_id ${threadId}.`
  const from = offset === 0 ? '' : ` and offset ${offset}`
  return `For the rest, call read_message with message_id ${messageId}${from}.`
}

/** Codes, best first, then the links with a known kind. */
function foundIn(message: Message): string[] {
  const codes = codesOf(message).map(
    ({ value, confidence, source }) =>
      `- code ${oneLine(value)} (confidence ${confidence}), in the line: ${oneLine(source)}`,
  )
  const links = (message.extracted?.links ?? [])
    .filter(({ kind, url }) => kind !== 'other' && url.length <= URL_LENGTH_MAX)
    .slice(0, LINKS_MAX)
    .map(({ kind, url }) => `- ${kind} link: ${oneLine(url, URL_LENGTH_MAX)}`)
  return [...codes, ...links]
}

/**
 * Reports progress every few seconds so that the client does not time out; returns a function that
 * stops it.
 */
function watchProgress({ progress }: Call, totalSeconds: number): () => void {
  const startMs = performance.now()
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startMs) / 1000)
    void progress(Math.min(seconds, totalSeconds), totalSeconds, 'Waiting for mail')
  }, PROGRESS_MS)
  return () => clearInterval(timer)
}
