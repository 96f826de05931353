import type { BodyOf } from '@mailroom/contract/operations.ts'
import type { Delivery as DeliveryShape, SentMessage } from '@mailroom/contract/sending.ts'
import type { Handlers, Input } from '#http/handler.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { hashOfLeaseToken } from '#mailbox/claims/store/claim-token.ts'
import {
  CUT_READ_LENGTH,
  type Extractions,
  presentListed,
  presentMessage,
} from '#mailbox/messages/messages.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import type { Delivery } from '#outbound/deliveries/store/deliveries.ts'
import * as store from '#outbound/deliveries/store/deliveries.ts'
import { answerInvite } from '#outbound/send/answer-invite.ts'
import type { HeaderField } from '#outbound/send/compose-send.ts'
import { forwardMessage } from '#outbound/send/forward-message.ts'
import { readInvite } from '#outbound/send/invite-to-send.ts'
import { requireOneHtml } from '#outbound/send/own-bodies.ts'
import { checkMessage, sendMessage } from '#outbound/send/send-message.ts'
import type { SendDeps } from '#outbound/send/sender.ts'
import { cancelMessage } from '#outbound/waiting/release-send.ts'
import { listScheduled } from '#outbound/waiting/store/waiting-sends.ts'
import { INSTANT_RULE, parseInstant, presentTime } from '#platform/clock.ts'
import { bareAddress, namesOf, readMailbox } from '#platform/email-address.ts'
import { notFound, wrongField } from '#platform/problem.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import type { Db, Page } from '#store/tables.ts'
import { readGivenFiles } from '#uploads/uploads.ts'

type SendOperation =
  | 'inboxes.send'
  | 'inboxes.checkSend'
  | 'inboxes.scheduled'
  | 'messages.forward'
  | 'messages.rsvp'
  | 'messages.cancel'
  | 'messages.deliveries'

export function sendHandlers(
  deps: SendDeps & { urlKey: Uint8Array; extractions: Extractions },
): Pick<Handlers, SendOperation> {
  return {
    'inboxes.send': async (
      { path, body },
      { accountId, headers, idempotencyKey, requestHash, takeSlot },
    ) => {
      const given = { accountId, files: body.attachments, takeSlot }
      const { isReplay, response } = await sendMessage(deps, {
        accountId,
        inboxId: path.id,
        idempotencyKey,
        requestHash,
        leaseTokenHash: hashOfLeaseToken(headers['lease-token']),
        ...messageOf(body),
        attachments: await readGivenFiles(deps, given),
      })
      return { isReplay, body: presentSent(response) }
    },
    'inboxes.checkSend': async ({ path, body }, { accountId, headers, takeSlot }) => {
      const given = { accountId, files: body.attachments, takeSlot }
      const leaseTokenHash = hashOfLeaseToken(headers['lease-token'])
      const asked = { accountId, inboxId: path.id, leaseTokenHash, ...messageOf(body) }
      return checkMessage(deps, { ...asked, attachments: await readGivenFiles(deps, given) })
    },
    'inboxes.scheduled': async ({ path, query }, { accountId, takeSlot }) => {
      if ((await findInbox(deps.db, accountId, path.id)) === null) throw notFound()
      await takeSlot()
      const page = { accountId, inboxId: path.id, ...query }
      const { messageIds, total } = await listScheduled(deps.db, page)
      const shown = presentListed(findEach(deps, accountId, messageIds), deps, deps.clock.now())
      return { data: await Array.fromAsync(shown), total }
    },
    ...responseHandlers(deps),
    'messages.cancel': async ({ path }, { accountId, takeSlot }) => {
      const messageId = path.id
      await cancelMessage(deps, { accountId, messageId })
      const message = await findMessage(deps.db, accountId, messageId, { before: takeSlot })
      if (message === null) throw notFound()
      return presentMessage(message, deps, deps.clock.now())
    },
    'messages.deliveries': async ({ path, query }, { accountId }) => {
      const page = { accountId, messageId: path.id, ...query }
      const { deliveries, total } = await listDeliveries(deps, page)
      return { data: deliveries.map(presentDelivery), total }
    },
  }
}

function responseHandlers(deps: SendDeps): Pick<Handlers, 'messages.forward' | 'messages.rsvp'> {
  return {
    'messages.forward': async (
      { path, body },
      { accountId, headers, idempotencyKey, requestHash, takeSlot },
    ) => {
      const { includeAttachments = true, isAutomatic = false } = body
      const { replyTo: _, ...recipients } = readRecipients(body)
      const { isReplay, response } = await forwardMessage(
        deps,
        {
          accountId,
          messageId: path.id,
          idempotencyKey,
          requestHash,
          leaseTokenHash: hashOfLeaseToken(headers['lease-token']),
          ...recipients,
          ...bodiesOf({ ...body, body: body.body ?? '' }),
          includesFiles: includeAttachments,
          attachments: await readGivenFiles(deps, { accountId, files: body.attachments, takeSlot }),
          isAutomatic,
        },
        takeSlot,
      )
      return { isReplay, body: presentSent(response) }
    },
    'messages.rsvp': async (
      { path, body },
      { accountId, headers, idempotencyKey, requestHash, takeSlot },
    ) => {
      const { isReplay, response } = await answerInvite(
        deps,
        {
          accountId,
          messageId: path.id,
          idempotencyKey,
          requestHash,
          leaseTokenHash: hashOfLeaseToken(headers['lease-token']),
          response: body.response,
          comment: body.comment?.trim() || null,
        },
        takeSlot,
      )
      return { isReplay, body: presentSent(response) }
    },
  }
}

/** Throws `bad_request` for values that the contract cannot exclude. */
export function messageOf(body: Omit<Input<'inboxes.checkSend'>['body'], 'attachments'>) {
  return {
    ...recipientsOf(body),
    headers: readExtraHeaders(body.headers ?? {}),
    sendAtMs: readSendAt(body.sendAt),
    ...bodiesOf(body),
    subject: body.subject ?? null,
    threadId: body.threadId ?? null,
    includeQuote: body.includeQuote ?? true,
    invite: readInvite(body.invite),
    hasUnsubscribe: body.unsubscribe ?? false,
    isAutomatic: body.isAutomatic ?? false,
  }
}

type Bodies = Pick<BodyOf<'inboxes.send'>, 'body' | 'bodyHtml' | 'format' | 'includeSignature'>

function bodiesOf({ body, format = 'auto', includeSignature = true, ...given }: Bodies) {
  // Empty HTML would hide the text from clients that show HTML.
  const bodyHtml = given.bodyHtml || null
  requireOneHtml(format, bodyHtml)
  return { body, bodyHtml, format, includeSignature }
}

type Recipients = Pick<
  BodyOf<'inboxes.send'>,
  'to' | 'cc' | 'bcc' | 'replyTo' | 'replyAll' | 'threadId'
>

function recipientsOf({ to, replyAll = false, threadId, ...fields }: Recipients) {
  if (replyAll && threadId === undefined) throw wrongField('replyAll', 'needs threadId')
  if (to === undefined && !replyAll) throw wrongField('to', 'is required')
  const read = readRecipients({ ...fields, to: to ?? [] })
  return { ...read, to: to === undefined ? null : read.to, replyAll }
}

/** Separates names from addresses. Hidden recipients have no names, which others could see. */
export function readRecipients({
  to,
  cc = [],
  bcc = [],
  replyTo = null,
}: {
  to: string | readonly string[]
  cc?: readonly string[]
  bcc?: readonly string[]
  replyTo?: string | null
}) {
  const shown = [[to].flat(), cc, replyTo === null ? [] : [replyTo]]
  return {
    to: [to].flat().map(bareAddress),
    cc: cc.map(bareAddress),
    bcc: bcc.map(bareAddress),
    replyTo: replyTo === null ? null : bareAddress(replyTo),
    names: namesOf(shown.flat().flatMap((mailbox) => readMailbox(mailbox) ?? [])),
  }
}

const EXTRA_HEADERS_MAX = 20
/** The name and the beginning of its value fit into a line of 78 (RFC 5322 §2.1.1). */
const HEADER_NAME_LENGTH_MAX = 60
const HEADER_VALUE_LENGTH_MAX = 998
/** RFC 5322 §2.2 allows printable ASCII except the colon. */
const EXTRA_HEADER_NAME = /^(?:x|list)-[!-9;-~]+$/i
const OWN_HEADER_NAME = /^(?:list-unsubscribe|x-loop$)/i

/** Throws `bad_request` for a field that is not allowed. */
export function readExtraHeaders(headers: Readonly<Record<string, string>>): HeaderField[] {
  const fields = Object.entries(headers).map(([name, value]) => ({ name, value }))
  if (fields.length > EXTRA_HEADERS_MAX) {
    throw wrongField('headers', `must have at most ${EXTRA_HEADERS_MAX} fields`)
  }
  const names = new Set<string>()
  for (const { name, value } of fields) {
    const path = `headers.${name.slice(0, HEADER_NAME_LENGTH_MAX).toWellFormed()}`
    if (!EXTRA_HEADER_NAME.test(name) || OWN_HEADER_NAME.test(name)) {
      throw wrongField(
        path,
        'must be a field X-… or List-…, except X-Loop and List-Unsubscribe…, which the service writes',
      )
    }
    if (name.length > HEADER_NAME_LENGTH_MAX) {
      throw wrongField(path, `must have a name of at most ${HEADER_NAME_LENGTH_MAX} characters`)
    }
    if (names.has(name.toLowerCase())) throw wrongField(path, 'occurs twice')
    names.add(name.toLowerCase())
    const defect = valueDefect(value)
    if (defect !== null) throw wrongField(path, defect)
  }
  return fields
}

function valueDefect(value: string): string | null {
  if (value.trim() === '') return 'must not be empty'
  if ([...value].length > HEADER_VALUE_LENGTH_MAX) {
    return `must have at most ${HEADER_VALUE_LENGTH_MAX} characters`
  }
  const isPrintable = value.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(value)
  return isPrintable ? null : 'must be printable text on one line'
}

export function readSendAt(text: string | undefined): number | null {
  if (text === undefined) return null
  const timeMs = parseInstant(text)
  if (timeMs === null) throw wrongField('sendAt', INSTANT_RULE)
  return timeMs
}

async function* findEach(
  { db }: { db: Db },
  accountId: string,
  messageIds: readonly string[],
): AsyncGenerator<Message> {
  for (const id of messageIds) {
    const message = await findMessage(db, accountId, id, { lengthMax: CUT_READ_LENGTH })
    if (message !== null) yield message
  }
}

type SendAnswer = Awaited<ReturnType<typeof sendMessage>>['response']

/** Both fields are present, because some clients read `messageId` and others `id`. */
export function presentSent(answer: SendAnswer): SentMessage {
  const { messageId, threadId, providerMessageId, status, inboxId, createdAtMs } = answer
  const { scheduledAtMs, hold } = answer
  return {
    messageId,
    threadId,
    providerMessageId,
    status,
    id: messageId,
    inboxId,
    direction: 'outbound',
    createdAt: presentTime(createdAtMs),
    ...(scheduledAtMs === undefined ? {} : { scheduledAt: presentTime(scheduledAtMs) }),
    ...(hold === undefined ? {} : { hold: presentHold(hold) }),
  }
}

function presentHold({ expiresAtMs, ...hold }: NonNullable<SendAnswer['hold']>) {
  return { ...hold, expiresAt: presentTime(expiresAtMs) }
}

function presentDelivery(delivery: Delivery): DeliveryShape {
  const { lastAttemptAtMs, nextAttemptAtMs, ...rest } = delivery
  return {
    ...rest,
    lastAttemptAt: lastAttemptAtMs === null ? null : presentTime(lastAttemptAtMs),
    nextAttemptAt: nextAttemptAtMs === null ? null : presentTime(nextAttemptAtMs),
  }
}

async function listDeliveries(
  deps: Store & { queueClock: QueueClock },
  input: { accountId: string; messageId: string } & Page,
): Promise<{ deliveries: Delivery[]; total: number }> {
  const message = await findMessage(deps.db, input.accountId, input.messageId, { lengthMax: 0 })
  if (message === null) throw notFound()
  const { deliveries, total } = await store.listDeliveries(deps.db, input)
  // The queue has its own clock, but the API shows times of the wall clock.
  const aheadMs = deps.clock.now() - deps.queueClock.now()
  return { deliveries: deliveries.map((delivery) => shifted(delivery, aheadMs)), total }
}

function shifted(delivery: Delivery, aheadMs: number): Delivery {
  const { nextAttemptAtMs: nextMs } = delivery
  return nextMs === null ? delivery : { ...delivery, nextAttemptAtMs: nextMs + aheadMs }
}
