// An event posted to a local webhook as the service would post it, a few times where nobody takes it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '@mailroom/sdk'
import { signWebhook } from '@mailroom/server/webhooks/webhook-secrets.ts'

export type Forwarded = {
  readonly isTaken: boolean
  /** Null when no answer came. */
  readonly status: number | null
  readonly error: string | null
  /** Of the last attempt. */
  readonly latencyMs: number
}

const WAITS_MS = [500, 2_000]
/** As long as the service gives a receiver. */
const ANSWER_MS_MAX = 15_000

type Forwarding = {
  readonly url: string
  readonly secret: string
  readonly event: Event
  readonly note: (text: string) => void
}

/** Never rejects: a receiver that is dead is waited for by the next event. */
export async function forwardEvent(forwarding: Forwarding): Promise<Forwarded> {
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
  const told = { ...event, attempt, delivered_at: new Date().toISOString() }
  const body = JSON.stringify(told)
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
