import { PAGE_SIZE_MAX } from '@mailroom/contract/shapes/page.ts'
import type { UpdateThread } from '@mailroom/contract/shapes/thread.ts'
import { fileHeaders, planDownload } from '#http/download.ts'
import type { BinaryResponse, HandlersOf, SignedContext } from '#http/handler.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { isAttachmentUrlGood } from './attachment-url.ts'
import type { Downloads } from './downloads.ts'
import type { Extractions } from './extractions.ts'
import { presentListed, presentMessage, presentThread } from './present-message.ts'
import { findAttachment, readAttachment, readRaw } from './read-content.ts'
import { getMessage, listMessages } from './read-messages.ts'
import { getThread, listThreads, markThread, readThread } from './threads.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  log: Log
  parser: Parser
  downloads: Downloads
  extractions: Extractions
  blobs: BlobStore | null
  inboxDomain: string
  smtpHostname: string
  publicUrl: string
  urlKey: Uint8Array
}

/** Those of searches, deliveries, views and what a person is shown are elsewhere. */
type MailHandlersOf<Tag extends string> = Omit<
  HandlersOf<Tag>,
  | 'messages.search'
  | 'messages.deliveries'
  | 'messages.view'
  | 'threads.view'
  | 'messages.html'
  | 'messages.image'
>

/** One handler for each operation on mail. */
export function mailHandlers(deps: Needs): MailHandlersOf<'threads' | 'messages' | 'attachments'> {
  return { ...threadHandlers(deps), ...messageHandlers(deps) }
}

function threadHandlers(deps: Needs): MailHandlersOf<'threads'> {
  return {
    'threads.list': async ({ path, query }, { accountId }) => {
      const { is_read: isRead = null, ...page } = query
      const { threads, total } = await listThreads(deps, {
        accountId,
        inboxId: path.id,
        isRead,
        ...page,
      })
      return { data: threads.map(presentThread), total }
    },
    'threads.get': async ({ path }, { accountId }) =>
      presentThread(await getThread(deps, { accountId, threadId: path.id })),
    'threads.update': async ({ path, body }, { accountId }) => {
      const change = { accountId, threadId: path.id, isRead: readStateOf(body) }
      return presentThread(await markThread(deps, change))
    },
    'threads.messages': async ({ path, query }, { accountId, takeSlot }) => {
      const { limit = null, offset = 0 } = query
      const page = { accountId, threadId: path.id, limit, offset }
      await takeSlot()
      const { thread, count, messages } = await readThread(deps, page)
      const shown = presentListed(messages, deps, deps.clock.now())
      return {
        threadId: thread.id,
        inboxId: thread.inboxId,
        subject: thread.subject,
        isRead: thread.isRead,
        data: count > PAGE_SIZE_MAX ? shown : await Array.fromAsync(shown),
      }
    },
  }
}

/** Newer clients spell the field as answers do. */
function readStateOf({ is_read: isRead, isRead: alias }: UpdateThread): boolean {
  const wanted = isRead ?? alias
  if (wanted === undefined) {
    throw problem('bad_request', 'The field "is_read" is required.', {
      details: [{ path: 'is_read', message: 'is required' }],
    })
  }
  if (alias === undefined || alias === wanted) return wanted
  throw problem('bad_request', 'The fields "is_read" and "isRead" differ.', {
    details: [{ path: 'isRead', message: 'must equal is_read if both are given' }],
  })
}

function messageHandlers(deps: Needs): MailHandlersOf<'messages' | 'attachments'> {
  return {
    'messages.list': async ({ path, query }, { accountId, takeSlot }) => {
      const { direction = null, ...page } = query
      await takeSlot()
      const { messages, total } = await listMessages(deps, {
        accountId,
        inboxId: path.id,
        direction,
        ...page,
      })
      const shown = presentListed(messages, deps, deps.clock.now())
      return { data: await Array.fromAsync(shown), total }
    },
    'messages.get': async ({ path }, { accountId, takeSlot }) => {
      const asked = { accountId, messageId: path.id, beforeLong: takeSlot }
      const message = await getMessage(deps, asked)
      return presentMessage(message, deps, deps.clock.now())
    },
    'messages.raw': async ({ path }, { accountId }) => ({
      headers: fileHeaders('message/rfc822', 'message.eml'),
      ...(await readRaw(deps, { accountId, messageId: path.id })),
    }),

    'attachments.get': async ({ path, query }, context) => {
      if (context.isSigned) {
        const isGood = isAttachmentUrlGood(deps.urlKey, {
          ...path,
          expires: query.expires,
          signature: query.signature,
          nowMs: deps.clock.now(),
        })
        if (!isGood) throw problem('invalid_signature')
      }
      const answer = await download(deps, path, context)
      return context.isSigned ? { ...answer, headers: embeddable(answer.headers) } : answer
    },
  }
}

/** The page that shows a message is of no origin, being sandboxed, and has only the signed address. */
function embeddable(headers: BinaryResponse['headers']): BinaryResponse['headers'] {
  return { ...headers, 'cross-origin-resource-policy': 'cross-origin' }
}

async function download(
  deps: Needs,
  path: { messageId: string; filename: string },
  context: SignedContext,
): Promise<BinaryResponse> {
  const accountId = context.isSigned ? null : context.accountId
  const found = await findAttachment(deps, { accountId, ...path })
  const { messageId, attachment } = found
  let plan = planDownload({ ...attachment, messageId }, context.headers)
  if (plan.part === null || !context.wantsContent) return { ...plan, content: null }
  const { content, release } = await readAttachment(deps, found)
  if (content.length !== attachment.sizeBytes) {
    // Read otherwise than when it was listed; whoever asked for a range may get the whole.
    plan = planDownload({ ...attachment, messageId, sizeBytes: content.length }, {})
  }
  return { ...plan, content: content.subarray(plan.part?.start, plan.part?.end), release }
}
