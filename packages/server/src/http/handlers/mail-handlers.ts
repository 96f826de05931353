// Handlers of threads, messages and attachments.

import type { Deps } from '#actions/deps.ts'
import { readAttachment, readRaw } from '#actions/message/read-content.ts'
import { getMessage, listMessages } from '#actions/message/read-messages.ts'
import { getThread, listThreads, markThread, readThread } from '#actions/thread/threads.ts'
import type { Handlers } from '#http/handler.ts'
import { presentDownload } from '#http/present/download.ts'
import { presentMessage, presentMessages, presentThread } from '#http/present/resources.ts'
import { isAttachmentUrlGood } from '#model/attachment-url.ts'
import { problem } from '#model/problem.ts'

type HandlersOf<Tag extends string> = Pick<Handlers, Extract<keyof Handlers, `${Tag}.${string}`>>

/** One handler for each operation on mail. */
export function mailHandlers(deps: Deps): HandlersOf<'threads' | 'messages' | 'attachments'> {
  return { ...threadHandlers(deps), ...messageHandlers(deps) }
}

function threadHandlers(deps: Deps): HandlersOf<'threads'> {
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
      const change = { accountId, threadId: path.id, isRead: body.is_read }
      return presentThread(await markThread(deps, change))
    },
    'threads.messages': async ({ path, query }, { accountId }) => {
      const { limit = null, offset = 0 } = query
      const page = { accountId, threadId: path.id, limit, offset }
      const { thread, messages } = await readThread(deps, page)
      const nowMs = deps.clock.now()
      return {
        threadId: thread.id,
        subject: thread.subject,
        isRead: thread.isRead,
        data: presentMessages(messages, deps, nowMs),
      }
    },
  }
}

function messageHandlers(deps: Deps): HandlersOf<'messages' | 'attachments'> {
  return {
    'messages.list': async ({ path, query }, { accountId }) => {
      const { direction = null, ...page } = query
      const { messages, total } = await listMessages(deps, {
        accountId,
        inboxId: path.id,
        direction,
        ...page,
      })
      const nowMs = deps.clock.now()
      return { data: presentMessages(messages, deps, nowMs), total }
    },
    'messages.get': async ({ path }, { accountId }) => {
      const message = await getMessage(deps, { accountId, messageId: path.id })
      return presentMessage(message, deps, deps.clock.now())
    },
    'messages.raw': async ({ path }, { accountId }) => ({
      headers: {
        'content-type': 'message/rfc822',
        'content-disposition': 'attachment; filename="message.eml"',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
      },
      content: await readRaw(deps, { accountId, messageId: path.id }),
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
      const accountId = context.isSigned ? null : context.accountId
      const { attachment, content } = await readAttachment(deps, { accountId, ...path })
      return presentDownload(attachment, content, context.headers)
    },
  }
}
