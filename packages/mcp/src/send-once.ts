// A send that a model repeats: the same content to the same recipients is sent once in ten minutes,
// whichever connection, process or machine repeats it. What is remembered is remembered by the service,
// under idempotency keys that follow from the content; nothing is kept here.

import { createHash } from 'node:crypto'
import type { MessageToSend, SentMessage } from '@mailroom/sdk'
import type { Access } from './access.ts'
import { ToolProblem } from './problem.ts'

/** As long as a repeat counts as a slip and not as a second message. */
export const REPEAT_MS = 10 * 60_000
/** The same content, each time more than REPEAT_MS later, within the day that keys are remembered. */
export const GENERATIONS_MAX = 16

export type SendOutcome = {
  readonly sent: SentMessage
  /** It had been sent already, less than REPEAT_MS ago; now nothing was. */
  readonly isRepeat: boolean
}

/**
 * Rejects with ToolProblem when the day's generations are used up, and as a send does. Calls at the same
 * time agree on the first free key, which the service gives to one of them.
 */
export async function sendOnce(
  access: Access,
  { inboxId, message, signal }: { inboxId: string; message: MessageToSend; signal: AbortSignal },
): Promise<SendOutcome> {
  const name = `mcp-${hashOf(inboxId, message)}`
  let isReplay = false
  let nowMs = Date.now()
  const client = access.clientSeeing(({ headers }) => {
    isReplay = headers.get('idempotency-replayed') === 'true'
    nowMs = access.now?.() ?? timeOf(headers)
  })
  for (let generation = 0; generation < GENERATIONS_MAX; generation += 1) {
    const idempotencyKey = `${name}-${generation}`
    const sent = await client.inboxes.send(inboxId, message, { idempotencyKey, signal })
    if (!isReplay) return { sent, isRepeat: false }
    if (nowMs - Date.parse(sent.createdAt) < REPEAT_MS) return { sent, isRepeat: true }
  }
  throw new ToolProblem(
    `The same content went to the same recipients ${GENERATIONS_MAX} times within a day, so it was not sent again. Say something else, or tell the person that you seem to repeat yourself.`,
  )
}

/** The clock of the service, which made the times that are compared with it; to the second. */
function timeOf(headers: Headers): number {
  const at = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(at) ? Date.now() : at
}

/** Everything that the request says, so that one hash never stands for two requests. */
function hashOf(inboxId: string, message: MessageToSend): string {
  const { attachments = [], ...fields } = message
  const told = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const files = attachments.map(({ filename, contentType, contentId = null, data }) => [
    filename,
    contentType,
    contentId,
    createHash('sha256').update(data).digest('hex'),
  ])
  return createHash('sha256')
    .update(JSON.stringify([inboxId, told, files]))
    .digest('hex')
}
