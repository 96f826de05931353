// Sends the same content to the same recipients only once in ten minutes, whichever connection,
// process or machine repeats it. The service remembers sends by idempotency keys derived from the
// content; nothing is stored here.

import { createHash } from 'node:crypto'
import type { Mailroom, MessageToSend, SentMessage } from '@mailroom/sdk'
import type { Access } from './access.ts'
import { ToolProblem } from './problem.ts'

/** A repeat within this time is treated as a retry, so no second message is sent. */
export const REPEAT_MS = 10 * 60_000
/** How often the same content may be sent within a day, more than REPEAT_MS apart. */
export const GENERATIONS_MAX = 16

export type SendOutcome = {
  readonly sent: SentMessage
  /** Whether the message was sent less than REPEAT_MS ago and therefore not sent again. */
  readonly isRepeat: boolean
}

/**
 * Rejects like a send, and with ToolProblem once the day's generations are used up. Concurrent
 * calls use the same first free key, so the service sends once.
 */
export function sendOnce(
  access: Access,
  { inboxId, message, signal }: { inboxId: string; message: MessageToSend; signal: AbortSignal },
): Promise<SendOutcome> {
  return once(access, hashOf(inboxId, message), (client, idempotencyKey) =>
    client.inboxes.send(inboxId, message, { idempotencyKey, signal }),
  )
}

/** Forwards once, under the same rules. */
export function forwardOnce(
  access: Access,
  { messageId, forwarded, signal }: { messageId: string; forwarded: Forward; signal: AbortSignal },
): Promise<SendOutcome> {
  const content = JSON.stringify([messageId, Object.entries(forwarded).sort()])
  const hash = createHash('sha256').update(content).digest('hex')
  return once(access, hash, (client, idempotencyKey) =>
    client.messages.forward(messageId, forwarded, { idempotencyKey, signal }),
  )
}

/** Answers an invitation once, under the same rules. */
export function rsvpOnce(
  access: Access,
  { messageId, answer, signal }: { messageId: string; answer: Answer; signal: AbortSignal },
): Promise<SendOutcome> {
  const content = JSON.stringify(['rsvp', messageId, Object.entries(answer).sort()])
  const hash = createHash('sha256').update(content).digest('hex')
  return once(access, hash, (client, idempotencyKey) =>
    client.messages.rsvp(messageId, answer, { idempotencyKey, signal }),
  )
}

/** Sends a draft once. A repeat gets the first response, even though the draft no longer exists. */
export async function sendDraftOnce(
  access: Access,
  {
    draftId,
    ifMatch,
    signal,
  }: { draftId: string; ifMatch: string | undefined; signal: AbortSignal },
): Promise<SendOutcome> {
  let isRepeat = false
  const client = access.clientSeeing(({ headers }) => {
    isRepeat = headers.get('idempotency-replayed') === 'true'
  })
  const options = { idempotencyKey: `mcp-draft-${draftId}`, signal }
  const sent = await client.drafts.send(draftId, {
    ...options,
    ...(ifMatch === undefined ? {} : { ifMatch }),
  })
  return { sent, isRepeat }
}

type Forward = Parameters<Mailroom['messages']['forward']>[1]
type Answer = Parameters<Mailroom['messages']['rsvp']>[1]

async function once(
  access: Access,
  hash: string,
  send: (client: Mailroom, idempotencyKey: string) => Promise<SentMessage>,
): Promise<SendOutcome> {
  const name = `mcp-${hash}`
  let isReplay = false
  let nowMs = Date.now()
  const client = access.clientSeeing(({ headers }) => {
    isReplay = headers.get('idempotency-replayed') === 'true'
    nowMs = access.now?.() ?? timeOf(headers)
  })
  for (let generation = 0; generation < GENERATIONS_MAX; generation += 1) {
    const idempotencyKey = `${name}-${generation}`
    const sent = await send(client, idempotencyKey)
    if (!isReplay) return { sent, isRepeat: false }
    if (nowMs - Date.parse(sent.createdAt) < REPEAT_MS) return { sent, isRepeat: true }
  }
  throw new ToolProblem(
    `The same content was already sent to the same recipients ${GENERATIONS_MAX} times within a day, so it was not sent again. Change the content, or tell the person that you seem to repeat yourself.`,
  )
}

/** The service's clock, in whole seconds, because it is compared with times of the service. */
function timeOf(headers: Headers): number {
  const at = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(at) ? Date.now() : at
}

/** Covers the whole request, so that two different requests never have the same hash. */
function hashOf(inboxId: string, message: MessageToSend): string {
  const { attachments = [], ...fields } = message
  const sortedFields = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const files = attachments.map(({ contentId = null, ...file }) => [
    file.filename,
    file.contentType,
    contentId,
    file.uploadId ??
      file.messageId ??
      createHash('sha256')
        .update(file.data ?? '')
        .digest('hex'),
  ])
  return createHash('sha256')
    .update(JSON.stringify([inboxId, sortedFields, files]))
    .digest('hex')
}
