// What happens at the service, as it happens: one WebSocket for the page, whoever listens.

import type { Event } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { client } from './session.ts'

export type LiveState = 'connecting' | 'live' | 'offline'

export const liveState = signal<LiveState>('connecting')
/** The newest first; texts of mail are cut, for there may be hundreds. */
export const recentEvents = signal<readonly Event[]>([])

const RECENT_MAX = 500
const TEXT_LENGTH_MAX = 4_000
const OFFLINE_WAIT_MS = 5_000

type Listener = (event: Event) => void
const listeners = new Set<Listener>()

/** Tells of its own connection, and leaves the credential to the cookie. */
class ObservedSocket extends WebSocket {
  constructor(url: string) {
    super(url)
    this.addEventListener('open', () => {
      liveState.value = 'live'
    })
    this.addEventListener('close', () => {
      liveState.value = navigator.onLine ? 'connecting' : 'offline'
    })
  }
}

/** Until the signal ends it; every event reaches all listeners once and in order. */
export async function followEvents(ending: AbortSignal): Promise<void> {
  let after: string | undefined
  while (!ending.aborted) {
    try {
      const events = client.events.follow({
        signal: ending,
        WebSocket: ObservedSocket,
        ...(after !== undefined && { after }),
      })
      for await (const event of events) {
        after = event.event_id
        take(event)
      }
    } catch {
      if (ending.aborted) return
      liveState.value = 'offline'
      after = undefined
      // Whether the session is over is found out by asking for something else.
      await client.account.get().catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, OFFLINE_WAIT_MS))
    }
  }
}

export function forgetEvents(): void {
  recentEvents.value = []
}

/** Calls with each event while the component is there. */
export function useLive(listen: Listener): void {
  const latest = useRef(listen)
  latest.current = listen
  useEffect(() => {
    const call: Listener = (event) => latest.current(event)
    listeners.add(call)
    return () => void listeners.delete(call)
  }, [])
}

function take(event: Event): void {
  recentEvents.value = [shortened(event), ...recentEvents.value].slice(0, RECENT_MAX)
  for (const listen of [...listeners]) listen(event)
}

function shortened(event: Event): Event {
  if (event.message === undefined) return event
  const cut = (text: string) =>
    text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text
  const { body_text, body_html, extracted_text } = event.message
  return {
    ...event,
    message: {
      ...event.message,
      body_text: cut(body_text),
      body_html: cut(body_html),
      extracted_text: cut(extracted_text),
    },
  }
}
