// Shows captured mail of the sandbox, and injects mail.

import type { CapturedMessage, ReceivedMail } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { readAttachments } from '#base/read-attachments.ts'
import { readPathOrInput } from '#base/read-input.ts'
import { openSession } from '#base/session.ts'
import { show, showMessage } from '#base/show.ts'
import type { CommonOptions } from './run-operation.ts'

export type InjectOptions = CommonOptions & {
  readonly from?: string
  readonly to?: string[]
  readonly subject?: string
  readonly text?: string
  readonly html?: string
  readonly inReplyTo?: string
  readonly attach?: readonly string[]
  readonly raw?: string
}

export async function showCaptured(id: string, options: CommonOptions): Promise<void> {
  const { client } = await openSession(options)
  const output = openOutput({ isColored: options.color })
  for await (const kept of client.sandbox.list()) {
    if (kept.id !== id && kept.messageId !== id) continue
    if (options.json) output.json(kept)
    else showMessage(output, asMessage(kept))
    return
  }
  const fix = '"mailroom sandbox list" lists captured mail.'
  throw new Failure('notFound', `The sandbox has no captured mail ${JSON.stringify(id)}.`, fix)
}

function asMessage({ from, to, text, ...kept }: CapturedMessage): Record<string, unknown> {
  return { ...kept, direction: 'captured', fromAddr: from, toAddr: to, bodyText: text }
}

export async function injectMail(options: InjectOptions): Promise<void> {
  const { client } = await openSession(options)
  const output = openOutput({ isColored: options.color })
  const { from, to, raw } = options
  const received: ReceivedMail =
    raw === undefined
      ? await client.sandbox.receive(await mailOf(options))
      : await client.sandbox.receiveRaw(await readPathOrInput(raw), { from, to })
  if (options.json) return output.json(received)
  const columns = ['id', 'threadId', 'toAddr', 'subject']
  const none =
    'No inbox received the message. A policy may have quarantined it: "mailroom quarantine list".'
  show(output, { kind: 'list', columns, none }, received)
}

async function mailOf({ from = '', to = [], subject = '', ...options }: InjectOptions) {
  const { text, html, inReplyTo, attach = [] } = options
  const attachments = await readAttachments(attach)
  const files = attachments.length > 0 ? { attachments } : {}
  return { from, to, subject, text, html, inReplyTo, ...files }
}
