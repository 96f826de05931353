// Live events: one WebSocket for the whole page, and the inbox changes derived from its events.

import type { EventKind } from '@mailroom/contract/vocabulary.ts'
import type { Event, Page } from '@mailroom/sdk'
import { effect, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { client } from './session.ts'
import { type Resource, useGathered, useResource } from './use-resource.ts'

export type LiveState = 'connecting' | 'live' | 'offline'

export const liveState = signal<LiveState>('connecting')
/** Recent events, newest first, with truncated texts, because there may be hundreds. */
export const recentEvents = signal<readonly Event[]>([])

const RECENT_MAX = 500
const TEXT_LENGTH_MAX = 4_000
const OFFLINE_WAIT_MS = 5_000

type Listener = (event: Event) => void
const listeners = new Set<Listener>()

/** Reports the state of its connection. The cookie authenticates it. */
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

/** Runs until the signal aborts. Every listener gets every event once, in order. */
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
      // If the session has expired, this request detects it.
      await client.account.get().catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, OFFLINE_WAIT_MS))
    }
  }
}

export function forgetEvents(): void {
  recentEvents.value = []
}

/** Calls the function with each event while the component is mounted. */
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

/** `after` is the newest event on the page. */
export type EventsAsked = { kind?: EventKind | ''; inboxId?: string; after?: string | undefined }

export function useNewestEvents(
  limit: number,
  { kind = '', inboxId = '', after }: EventsAsked = {},
): Resource<Page<Event>> {
  return useResource(`newest events ${limit} ${kind} ${inboxId} ${after}`, (signal) =>
    client.events
      .list({
        order: 'desc',
        limit,
        signal,
        ...(kind !== '' && { event_types: kind }),
        ...(inboxId !== '' && { inbox_id: inboxId }),
        ...(after !== undefined && { after }),
      })
      .page(),
  )
}

/** Merges two lists, newest event first; an event in both lists appears once. */
export function withOlder(live: readonly Event[], older: readonly Event[] = []): Event[] {
  const seen = new Set(live.map(({ event_id }) => event_id))
  return [...live, ...older.filter(({ event_id }) => !seen.has(event_id))]
}

type Change = { inboxId: string; round: number }

const latest = signal<Change | null>(null)
let rounds = 0

/** Reports a change made on this page, which may have no event. */
export function announceMailChange(inboxId: string): void {
  rounds += 1
  latest.value = { inboxId, round: rounds }
}

/** Combines a burst of mail into one change. */
const GATHER_MS = 250

/**
 * Collects ids of inboxes whose mail or flags have changed and calls `added` after each. The caller
 * removes ids from the set.
 */
export function useChangedInboxes(added: () => void): string[] {
  const ids = useRef<string[]>([])
  const add = (id: string | null | undefined) => {
    if (!id) return
    if (!ids.current.includes(id)) ids.current.push(id)
    added()
  }
  const latestAdd = useRef(add)
  latestAdd.current = add
  useLive((event) => add(event.inbox_id))
  useEffect(() => {
    const firstRound = rounds
    return effect(() => {
      const change = latest.value
      if (change !== null && change.round > firstRound) latestAdd.current(change.inboxId)
    })
  }, [])
  return ids.current
}

/**
 * Calls the function after the inbox (null: any inbox) has changed: after `gatherMs` for mail, at
 * once for changes made on this page.
 */
export function useMailChanges(
  inboxId: string | null,
  changed: () => void,
  gatherMs: number = GATHER_MS,
): void {
  const gather = useGathered(changed, gatherMs)
  const gatherOwn = useGathered(changed, GATHER_MS)
  useLive((event) => {
    const isOfMail = event.message !== undefined || event.thread_id !== null
    if (isOfMail && (inboxId === null || event.inbox_id === inboxId)) gather()
  })
  useEffect(() => {
    const firstRound = rounds
    return effect(() => {
      const change = latest.value
      if (change === null || change.round <= firstRound) return
      if (inboxId === null || change.inboxId === inboxId) gatherOwn()
    })
  }, [inboxId])
}
