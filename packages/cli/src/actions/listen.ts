// Events as they happen, printed or forwarded.

import type { Event } from '@mailroom/sdk'
import { systemChance } from '@mailroom/server/platform/chance.ts'
import { makeWebhookSecret } from '@mailroom/server/webhooks/webhook-secrets.ts'
import { Failure } from '#base/failure.ts'
import { type Output, openOutput } from '#base/output.ts'
import { plainJson, plainLine } from '#base/plain-text.ts'
import { readStandardInput } from '#base/read-input.ts'
import { truncate } from '#base/table.ts'
import { findId } from '#session/find-by-name.ts'
import { isLocal } from '#session/find-service.ts'
import { openSession } from '#session/open-session.ts'
import { cellOf } from '#shown/cells.ts'
import { type Forwarded, forwardEvent } from './forward-event.ts'
import type { CommonOptions } from './run-operation.ts'

export type ListenOptions = CommonOptions & {
  readonly inbox?: readonly string[]
  readonly pod?: readonly string[]
  readonly events?: readonly Event['event'][]
  readonly since?: string
  readonly forward?: string
  readonly secret?: string
}

export async function listen(options: ListenOptions): Promise<void> {
  const { inbox = [], pod, events, since, json } = options
  const url = options.forward === undefined ? null : readUrl(options.forward)
  const output = openOutput({ isColored: options.color })
  const session = await openSession(options)
  const inboxIds: string[] = []
  for (const text of inbox) inboxIds.push(await findId(session, 'inbox', text))
  // What cannot work says so at once; what follows waits for the service to come back.
  await session.client.account.get()
  if (url?.startsWith('http:') && !isLocal(url)) {
    output.note('Without https, anyone on the network path can read the mail.')
  }
  const secret = url === null ? '' : await readSecret(output, options.secret)
  const where = `${session.baseUrl}${url === null ? '' : `, forwarding to ${url}`}`
  const following = session.client.events.follow({
    ...(inboxIds.length > 0 && { inboxIds }),
    podIds: pod,
    eventTypes: events,
    after: since,
    onNotice: (notice) => output.note(plainLine(notice)),
    WebSocket: watchedSocket((text) => output.note(output.noteColors.dim(text)), where),
  })
  for await (const event of following) {
    if (json) output.write(`${plainJson(event)}\n`)
    const forwarded =
      url === null ? null : await forwardEvent({ url, secret, event, note: output.note })
    if (!json) output.write(lineOf(output, event, forwarded))
    else if (forwarded !== null) output.note(`${event.event_id} ${outcomeOf(forwarded)}`)
  }
}

/** The runtime's own, which tells when it is heard of for the first time and when no more. */
function watchedSocket(note: (text: string) => void, where: string) {
  let times = 0
  return class extends WebSocket {
    constructor(url: string, options?: never) {
      super(url, options)
      let isHeard = false
      this.addEventListener('message', () => {
        if (isHeard) return
        isHeard = true
        times += 1
        note(times === 1 ? `Listening to ${where}. Press Ctrl-C to stop.` : 'Listening again.')
      })
      this.addEventListener('close', () => {
        if (isHeard) note('Connection lost. Reconnecting; no event is lost.')
      })
    }
  }
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && url.username + url.password === ''
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href
  const fix = 'Write it like http://127.0.0.1:3000/webhook, without a user or a password.'
  throw new Failure('usage', '--forward needs an http or https URL.', fix)
}

/** As `mailroom webhooks create` gives one. */
async function readSecret(output: Output, given: string | undefined): Promise<string> {
  if (given === undefined) {
    const made = makeWebhookSecret(systemChance)
    output.note(`Signing secret: ${made}`)
    return made
  }
  const secret = given === '-' ? (await readStandardInput()).toString('utf8').trim() : given
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)) return secret
  const fix = 'Give whsec_ and the base64 of at least 24 bytes, or leave it out to generate one.'
  throw new Failure('usage', 'The secret is not valid.', fix)
}

function outcomeOf({ status, error, latencyMs }: Forwarded): string {
  return `${status ?? plainLine(error ?? 'failed')} ${Math.round(latencyMs)} ms`
}

/** Time, kind and what it is about, with what the receiver said before it. */
function lineOf(output: Output, event: Event, forwarded: Forwarded | null): string {
  const { occurred_at, event: kind, event_id, message, recipient, domain, webhook } = event
  const outcome = forwarded === null ? [] : [outcomeOf(forwarded)]
  const cells = [
    ...outcome,
    cellOf(output, occurred_at),
    kind,
    event_id,
    message?.from ?? domain?.domain ?? webhook?.url ?? recipient ?? '',
    message?.subject ?? '',
  ].map(plainLine)
  if (!output.isTerminal) return `${cells.join('\t')}\n`
  const { green, red } = output.colors
  const line = truncate(cells.join('  ').trimEnd(), output.width)
  if (forwarded === null) return `${line}\n`
  return `${forwarded.isTaken ? green(line) : red(line)}\n`
}
