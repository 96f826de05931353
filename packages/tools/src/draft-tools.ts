// Tools for drafts: messages that are written now and sent later, possibly by another person.

import type { Draft, FileToSend } from '@mailroom/sdk'
import { replyTo } from '@mailroom/sdk/sending.ts'
import { z } from 'zod'
import { noDraft } from '#access.ts'
import { cut, fence, oneLine, plainLines } from '#fence.ts'
import { isNotFound, orElse, ToolProblem } from '#problem.ts'
import { sendDraftOnce } from '#send-once.ts'
import {
  addresses,
  attachments,
  BODY,
  bodyText,
  copiesShape,
  fileNames,
  filesOf,
  HELD,
  HTML,
  htmlText,
  listed,
  MARKDOWN,
  sendTime,
  subjectText,
  TO,
} from './content.ts'
import { answeredIn, failFenced, SENT, sentAs, tellSent } from './sending-tools.ts'
import {
  type Answer,
  type Call,
  counted,
  defineTool,
  id,
  inbox,
  leaseToken,
  lines,
  maxChars,
  moreOf,
  pageLimit,
  pageOffset,
} from './tool.ts'

const VERSION_LENGTH_MAX = 100
const REMOVED_MAX = 100

const draftId = id('The id of a draft (drf_…).')
const version = z
  .string()
  .regex(/^[\w-]+$/)
  .max(VERSION_LENGTH_MAX)
  .optional()
  .describe('The version you read: refused if it has changed since.')

const fieldsShape = {
  to: addresses.optional().describe(TO),
  subject: subjectText.optional().describe('The subject; not for a reply.'),
  body: bodyText.min(1).optional().describe(BODY),
  html: htmlText.min(1).optional().describe(HTML),
  ...copiesShape,
  send_at: sendTime.optional().describe('Do not send it before this time.'),
}

export const listDrafts = defineTool({
  name: 'list_drafts',
  scope: 'mail:read',
  title: 'List drafts',
  description:
    'List the drafts of an inbox, newest first, or show one in full (draft_id). Drafts are messages that have not been sent.',
  input: {
    inbox,
    draft_id: id('The id of a draft (drf_…), to show it in full.').optional(),
    max_chars: maxChars,
    limit: pageLimit(),
    offset: pageOffset,
  },
  isReading: true,
  isOpenWorld: false,
  async run({ inbox: named, draft_id, max_chars, limit, offset }, { access, signal }) {
    if (draft_id !== undefined) return tellDraft(await access.draft(draft_id), max_chars)
    const { id: inboxId, address } = await access.inbox(named)
    const { data, total } = await access.client.drafts
      .list(inboxId, { limit, offset, signal })
      .page()
    if (data.length === 0) return `No ${total === 0 ? '' : 'more '}drafts in ${address}.`
    const rows = data.map((one) => {
      const [to, subject] = [oneLine(one.to.join(', ')), oneLine(one.subject ?? '')]
      const told = [one.id, `version ${versionOf(one)}`, `changed ${one.updatedAt}`]
      return `- ${told.join(' · ')} · to ${to || '(nobody)'} · ${subject || '(no subject)'}`
    })
    return lines(
      `${counted(total, 'draft')} in ${address}, ${data.length} here:`,
      fence(rows.join('\n')),
      moreOf(data.length, offset, total),
    )
  },
})

/** Fenced, because people and other programs write drafts too, and copy from mail. */
function tellDraft(draft: Draft, most: number): string {
  const { threadId, sendAt, replyAll, attachments } = draft
  const named = { To: draft.to, Cc: draft.cc, Bcc: draft.bcc }
  const head = Object.entries(named).flatMap(([name, list]) =>
    list.length === 0 ? [] : [`${name}: ${oneLine(list.join(', '), 2_000)}`],
  )
  const file = (one: Draft['attachments'][number]) =>
    `file ${one.id}: ${oneLine(one.filename)} (${oneLine(one.contentType)}, ${one.size} bytes)`
  const written = [
    ...head,
    ...(draft.subject === null ? [] : [`Subject: ${oneLine(draft.subject)}`]),
    ...attachments.map(file),
    '',
    plainLines(draft.body ?? '(no text)'),
    ...(draft.bodyHtml === null ? [] : ['', 'HTML:', plainLines(draft.bodyHtml)]),
  ].join('\n')
  const shown = cut(written, most)
  return lines(
    `Draft ${draft.id}, version ${versionOf(draft)}, of inbox ${draft.inboxId}, changed ${draft.updatedAt}.`,
    threadId === null ? '' : `It is a reply in thread ${threadId}${replyAll ? ', to all' : ''}.`,
    sendAt === null ? '' : `Once sent, it waits until ${sendAt}.`,
    fence(shown),
    shown === written ? '' : 'This is not all. Call list_drafts again with a larger max_chars.',
  )
}

/** The ETag without its quotation marks, which a model would have to escape. */
function versionOf({ etag }: Draft): string {
  return etag.replaceAll('"', '')
}

const CLEARED = ['to', 'subject', 'body', 'html', 'cc', 'bcc', 'send_at'] as const

export const saveDraft = defineTool({
  name: 'save_draft',
  scope: 'mail:draft',
  title: 'Write or change a draft',
  description:
    'Write a draft of a message, for a person to see before it is sent, or change one (draft_id): omitted fields stay. Nothing is sent.',
  input: {
    draft_id: draftId.describe('The draft to change.').optional(),
    version,
    inbox: inbox.describe('Of a new draft; needed only if there are several.'),
    thread_id: id('The thread that a new draft answers.').optional(),
    reply_all: z.boolean().optional().describe('In a thread: to its other recipients too.'),
    ...fieldsShape,
    files: fileNames,
    attachments: attachments.optional(),
    remove_files: z
      .array(id('The id of a file.'))
      .max(REMOVED_MAX)
      .optional()
      .describe('Ids of files to remove.'),
    clear: z.array(z.enum(CLEARED)).optional().describe('Fields to empty.'),
  },
  values: ['draft_id', 'version'],
  isReading: false,
  isDestructive: true,
  isOpenWorld: false,
  async run(given, call) {
    const added = await filesOf(given, call.access)
    if (given.draft_id === undefined) {
      const draft = await create(given, added, call)
      const next = call.has('send_draft') ? 'send_draft sends it.' : 'A person can send it.'
      return saved(
        draft,
        `Saved as draft ${draft.id}, version ${versionOf(draft)}. Nothing was sent. ${next}`,
      )
    }
    if (given.thread_id !== undefined || given.inbox !== undefined) {
      throw new ToolProblem(
        'inbox and thread_id are only for a new draft. Omit them, or omit draft_id for a new one.',
      )
    }
    const draft = await change(given.draft_id, given, { added, call })
    return saved(
      draft,
      `Changed draft ${draft.id}, now version ${versionOf(draft)}. Nothing was sent.`,
    )
  },
})

function saved(draft: Draft, text: string): Answer {
  return { text, values: { draft_id: draft.id, version: versionOf(draft) } }
}

type Given = Partial<z.output<z.ZodObject<typeof fieldsShape>>> & {
  version?: string | undefined
  inbox?: string | undefined
  thread_id?: string | undefined
  reply_all?: boolean | undefined
  remove_files?: string[] | undefined
  clear?: (typeof CLEARED)[number][] | undefined
}

async function create(given: Given, added: FileToSend[], call: Call): Promise<Draft> {
  if (given.version !== undefined || given.remove_files !== undefined || given.clear?.length) {
    throw new ToolProblem('version, remove_files and clear are only for a draft_id.')
  }
  const { access, signal } = call
  const fields = {
    ...fieldsOf(given),
    ...formatOf(given, false),
    ...(added.length > 0 && { attachments: added }),
  }
  const { thread_id: threadId, reply_all: replyAll = false } = given
  if (threadId === undefined) {
    const { id: inboxId } = await access.inbox(given.inbox)
    return access.client.drafts.create(inboxId, fields, { signal })
  }
  const { inboxId, answered } = await answeredIn(threadId, call)
  if (given.inbox !== undefined && (await access.inbox(given.inbox)).id !== inboxId) {
    throw new ToolProblem('The thread belongs to another inbox. Omit inbox.')
  }
  const { to } = replyTo(answered, { to: given.to, replyAll, body: '' })
  const draft = { ...fields, ...(to === undefined ? {} : { to }), threadId, replyAll }
  return access.client.drafts.create(inboxId, draft, { signal })
}

async function change(
  draftId: string,
  given: Given,
  { added, call: { access, signal } }: { added: FileToSend[]; call: Call },
): Promise<Draft> {
  const { drafts } = access.client
  let draft = await access.draft(draftId)
  let ifMatch = matching(given.version)
  const next = (changed: Draft) => {
    // Prevents overwriting a concurrent change between two of these requests.
    ifMatch = changed.etag
    draft = changed
  }
  const { reply_all: replyAll } = given
  const fields = {
    ...fieldsOf(given),
    ...formatOf(given, draft.bodyHtml !== null),
    ...Object.fromEntries((given.clear ?? []).map((name) => [FIELDS[name], null])),
    ...(replyAll === undefined ? {} : { replyAll }),
  }
  if (Object.keys(fields).length > 0) {
    next(await drafts.update(draftId, fields, { ifMatch, signal }))
  }
  for (const fileId of given.remove_files ?? []) {
    const removed = drafts.removeAttachment(draftId, fileId, { ifMatch, signal })
    next(
      await orElse(removed, () => new ToolProblem(`The draft has no file ${fileId} (any more).`)),
    )
  }
  for (const file of added) next(await drafts.addAttachment(draftId, file, { ifMatch, signal }))
  return draft
}

const FIELDS = {
  to: 'to',
  subject: 'subject',
  body: 'body',
  html: 'bodyHtml',
  cc: 'cc',
  bcc: 'bcc',
  send_at: 'sendAt',
} as const

function fieldsOf({ to, subject, body, html: bodyHtml, cc, bcc, send_at: sendAt }: Given) {
  const given = { to, subject, body, bodyHtml, cc, bcc, sendAt }
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Partial<typeof given>
}

/** A new body is Markdown, unless the draft has HTML of its own. */
function formatOf({ body, html, clear = [] }: Given, hadHtml: boolean) {
  if (html !== undefined) return { format: 'auto' } as const
  const hasHtml = hadHtml && !clear.includes('html')
  return body === undefined || hasHtml ? {} : MARKDOWN
}

function matching(wanted: string | undefined): string | undefined {
  return wanted === undefined ? undefined : `"${wanted}"`
}

export const sendDraft = defineTool({
  name: 'send_draft',
  scope: 'mail:send',
  title: 'Send a draft',
  description: `Send a saved draft, which is then deleted. A draft is sent only once, however often you call this. ${HELD}`,
  input: { draft_id: draftId, version, lease_token: leaseToken.optional() },
  values: SENT,
  isReading: false,
  isIdempotent: true,
  isOpenWorld: true,
  async run({ draft_id, version: wanted }, call) {
    const { access, signal } = call
    // If the draft is gone, the same call gets the first response again.
    const draft = await access.client.drafts.get(draft_id, { signal }).catch((thrown) => {
      if (isNotFound(thrown)) return null
      throw thrown
    })
    if (draft !== null && !(await access.reaches(draft.inboxId))) throw noDraft(draft_id)
    const asked = { draftId: draft_id, ifMatch: matching(wanted), signal }
    const outcome = await sendDraftOnce(access, asked).catch((thrown) => {
      if (isNotFound(thrown)) throw noDraft(draft_id)
      return failFenced(thrown, true)
    })
    const { sent, isRepeat } = outcome
    if (!(await access.reaches(sent.inboxId))) throw noDraft(draft_id)
    if (isRepeat && sent.hold === undefined) {
      return sentAs(
        outcome,
        `Draft ${draft_id} was sent at ${sent.createdAt} as message ${sent.messageId}; not sent again.`,
      )
    }
    const text = lines(
      tellSent(outcome, 'the recipients of the draft', call),
      draft === null ? '' : fence(`To: ${oneLine(listed(draft.to)) || 'everybody'}`),
    )
    return sentAs(outcome, text)
  },
})

export const deleteDraft = defineTool({
  name: 'delete_draft',
  scope: 'mail:draft',
  title: 'Delete a draft',
  description:
    'Permanently delete a draft with its files. Use this only if the draft is no longer needed; it may belong to a person.',
  input: { draft_id: draftId, version },
  isReading: false,
  isDestructive: true,
  isOpenWorld: false,
  async run({ draft_id, version: wanted }, { access, signal }) {
    await access.draft(draft_id)
    await access.client.drafts.delete(draft_id, { ifMatch: matching(wanted), signal })
    return `Deleted draft ${draft_id}.`
  },
})
