// Tools of the sandbox, where no mail leaves the service.

import { z } from 'zod'
import { cut, fence, oneLine, plainLines } from '#fence.ts'
import { ToolProblem } from '#problem.ts'
import { defineTool, id, inbox, lines, moreOf, pageLimit, pageOffset } from './tool.ts'

const LIST_MAX = 20
const LIST_DEFAULT = 5
/** Maximum captured messages to search for messages of one inbox. */
const READ_MAX = 100
const SHOWN_CHARS = 8_000
/** Maximum characters for all recipients of a message together. */
const ADDRESSES_CHARS = 500
const ADDRESS_LENGTH_MAX = 320
const SUBJECT_LENGTH_MAX = 998
const TEXT_LENGTH_MAX = 500_000

export const getSandboxMail = defineTool({
  name: 'get_sandbox_mail',
  scope: 'mail:read',
  title: 'See mail captured by the sandbox',
  description:
    'Show the mail that the sandbox captured instead of delivering it, newest first, as its recipients would have received it.',
  input: { limit: pageLimit(LIST_MAX, LIST_DEFAULT), offset: pageOffset },
  isReading: true,
  isOpenWorld: false,
  isOfSandbox: true,
  async run({ limit, offset }, { access, signal }) {
    const ids = await access.inboxIds()
    const asked = ids === null ? { limit, offset, signal } : { limit: READ_MAX, signal }
    const page = await access.client.sandbox.list(asked).page()
    const own = page.data.filter(({ inboxId }) => ids === null || ids.includes(inboxId))
    const data = ids === null ? own : own.slice(offset, offset + limit)
    const total = ids === null ? page.total : own.length
    if (data.length === 0) return 'The sandbox has no (more) mail. Mail that you send appears here.'
    const budget = Math.floor(SHOWN_CHARS / data.length)
    const shown = data.map((one) => {
      const head = lines(
        `message: ${one.messageId} · ${one.threadId} · ${one.createdAt}`,
        `from: ${oneLine(one.from)}`,
        `to: ${oneLine(one.to.join(', '), ADDRESSES_CHARS)}`,
        one.cc.length === 0 ? '' : `cc: ${oneLine(one.cc.join(', '), ADDRESSES_CHARS)}`,
        `subject: ${oneLine(one.subject)}`,
        ...one.attachments.map(
          (file) => `file: ${oneLine(file.filename)}, ${file.sizeBytes} bytes`,
        ),
      )
      return `${head}\n\n${cut(plainLines(one.text).trimEnd(), budget)}`
    })
    return lines(
      `${total} captured, ${data.length} here. Texts are truncated; read_message shows a message in full.`,
      fence(shown.join('\n---\n')),
      moreOf(data.length, offset, total),
    )
  },
})

export const simulateInbound = defineTool({
  name: 'simulate_inbound',
  scope: 'mail:organise',
  title: 'Simulate incoming mail',
  description:
    'Deliver a message to an inbox as if a stranger had sent it, to test how you handle mail.',
  input: {
    inbox,
    from: z.string().min(3).max(ADDRESS_LENGTH_MAX).describe('The sender: one bare address.'),
    subject: z.string().max(SUBJECT_LENGTH_MAX).describe('The subject.'),
    text: z.string().max(TEXT_LENGTH_MAX).optional().describe('The text.'),
    html: z.string().max(TEXT_LENGTH_MAX).optional().describe('The HTML.'),
    answers: id('The id of a sent message to which this mail replies (msg_…).').optional(),
  },
  isReading: false,
  isOpenWorld: false,
  isOfSandbox: true,
  async run({ inbox: named, from, subject, text, html, answers }, { access, signal }) {
    const { address } = await access.inbox(named)
    const answered = answers === undefined ? null : await access.message(answers)
    const mail = {
      from,
      to: address,
      subject,
      ...(text === undefined ? {} : { text }),
      ...(html === undefined ? {} : { html }),
      ...(answered?.rfcMessageId ? { inReplyTo: answered.rfcMessageId } : {}),
    }
    const { data } = await access.client.sandbox.receive(mail, { signal })
    const [got] = data
    if (got === undefined) {
      throw new ToolProblem(
        `No message arrived: ${address} did not accept the mail, for example because of a sender rule.`,
      )
    }
    return `Message ${got.id} arrived at ${address} in thread ${got.threadId}.`
  },
})
