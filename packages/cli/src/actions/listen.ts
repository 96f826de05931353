// Prints live events, or forwards them to a local webhook.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '@mailroom/sdk'
import { systemChance } from '@mailroom/server/platform/chance.ts'
import { makeWebhookSecret, signWebhook } from '@mailroom/server/webhooks/webhook-secrets.ts'
import { Failure } from '#base/failure.ts'
import { GAP, type Output, openOutput, pad, truncate } from '#base/output.ts'
import { plainJson, plainLine } from '#base/plain-text.ts'
import { readStandardInput } from '#base/read-input.ts'
import { findId, isLocal, openSession } from '#base/session.ts'
import { listCellOf } from '#base/show.ts'
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
  // Fails immediately on an invalid key or URL; later the SDK reconnects when the service is back.
  await session.client.account.get()
  if (url?.startsWith('http:') && !isLocal(url)) {
    output.note('Without https, anyone on the network path can read the mail.')
  }
  const secret = url === null ? '' : await readSecret(output, options.secret)
  const where = `${session.baseUrl}${url === null ? '' : `, forwarding to ${url}`}`
  const note = (text: string) => output.note(output.noteColors.dim(text))
  const following = session.client.events.follow({
    ...(inboxIds.length > 0 && { inboxIds }),
    podIds: pod,
    eventTypes: events,
    after: since,
    onNotice: (notice) => output.note(plainLine(notice)),
    WebSocket: watched(await webSocket(), note, where),
  })
  for await (const event of following) {
    if (json) output.write(`${plainJson(event)}\n`)
    const forwarded =
      url === null ? null : await forwardEvent({ url, secret, event, note: output.note })
    if (!json) output.write(lineOf(output, event, forwarded))
    else if (forwarded !== null) output.note(`${event.event_id} ${outcomeOf(forwarded)}`)
  }
}

/** Node.js has its own WebSocket since version 22. */
async function webSocket(): Promise<typeof WebSocket> {
  if ('WebSocket' in globalThis) return globalThis.WebSocket
  const { WebSocket: ofLibrary } = await import('ws')
  return ofLibrary as never
}

/** Reports the first message and the end of each connection. */
function watched(Base: typeof WebSocket, note: (text: string) => void, where: string) {
  let times = 0
  return class extends Base {
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

/** A secret in the format of the service's webhooks; generated if none is given. */
async function readSecret(output: Output, given: string | undefined): Promise<string> {
  if (given === undefined) {
    const made = makeWebhookSecret(systemChance)
    output.note(`Signing secret: ${made}`)
    return made
  }
  const secret = given === '-' ? (await readStandardInput()).toString('utf8').trim() : given
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)) return secret
  const fix = 'Give whsec_ and the base64 of at least 24 bytes, or omit it to generate one.'
  throw new Failure('usage', 'The secret is not valid.', fix)
}

function outcomeOf({ status, error, latencyMs }: Forwarded): string {
  return `${status ?? plainLine(error ?? 'failed')} ${Math.round(latencyMs)} ms`
}

/** Receiver status, then time, type and subject of the event; on a terminal the id is last. */
function lineOf(output: Output, event: Event, forwarded: Forwarded | null): string {
  const { occurred_at, event: kind, event_id, message, recipient, domain, webhook } = event
  const outcome = forwarded === null ? [] : [outcomeOf(forwarded)]
  const before = [...outcome, listCellOf(output, occurred_at), kind].map(plainLine)
  const who = message?.from ?? domain?.domain ?? webhook?.url ?? recipient ?? ''
  const after = [who, message?.subject ?? ''].map(plainLine)
  if (!output.isTerminal) return `${[...before, event_id, ...after].join('\t')}\n`
  const { green, red } = output.colors
  const room = Math.max(1, output.width - event_id.length - GAP.length)
  const line = pad(truncate([...before, ...after].join(GAP).trimEnd(), room), room) + GAP + event_id
  if (forwarded === null) return `${line}\n`
  return `${forwarded.isTaken ? green(line) : red(line)}\n`
}

type Forwarded = {
  readonly isTaken: boolean
  /** The HTTP status; null without a response. */
  readonly status: number | null
  readonly error: string | null
  readonly latencyMs: number
}

const WAITS_MS = [500, 2_000]
/** The time limit that the service has for receivers. */
const ANSWER_MS_MAX = 15_000

type Forwarding = {
  readonly url: string
  readonly secret: string
  readonly event: Event
  readonly note: (text: string) => void
}

/**
 * Posts the event up to three times. Never rejects, so a dead receiver does not end the command.
 */
async function forwardEvent(forwarding: Forwarding): Promise<Forwarded> {
  for (let attempt = 1; ; attempt += 1) {
    const forwarded = await post(forwarding, attempt)
    const waitMs = WAITS_MS[attempt - 1]
    if (forwarded.isTaken || waitMs === undefined) return forwarded
    const what = forwarded.status ?? forwarded.error
    forwarding.note(`${forwarding.event.event_id}: ${what}; retrying in ${waitMs} ms`)
    await sleep(waitMs)
  }
}

async function post({ url, secret, event }: Forwarding, attempt: number): Promise<Forwarded> {
  const delivered = { ...event, attempt, delivered_at: new Date().toISOString() }
  const body = JSON.stringify(delivered)
  const timestamp = Math.floor(Date.now() / 1000)
  const signed = signWebhook({ id: event.event_id, timestamp, body, secrets: [secret] })
  const startMs = performance.now()
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...signed, 'content-type': 'application/json', 'user-agent': 'Mailroom' },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    await response.body?.cancel()
    const latencyMs = performance.now() - startMs
    return { isTaken: response.ok, status: response.status, error: null, latencyMs }
  } catch (error) {
    const latencyMs = performance.now() - startMs
    return { isTaken: false, status: null, error: reasonOf(error), latencyMs }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : error.message
}
