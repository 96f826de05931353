// The account's inboxes with their unread threads, for the sidebar, the palette and All mail.

import type { Inbox } from '@mailroom/sdk'
import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useChangedInboxes } from './live.ts'
import { client, isApprover } from './session.ts'
import { useGathered } from './use-resource.ts'

type InboxList = {
  readonly inboxes: readonly Inbox[]
  readonly total: number
}

/** Null until loaded. */
export const inboxList = signal<InboxList | null>(null)
/** The unread threads of all inboxes; null until all inboxes are loaded. */
export const unreadTotal = computed(() => {
  const list = inboxList.value
  if (list === null || list.inboxes.length < list.total) return null
  return list.inboxes.reduce((sum, { unreadThreads }) => sum + unreadThreads, 0)
})

const PAGE = 100
/** Maximum inboxes in the list; older ones are on the Inboxes page. */
export const KNOWN_MAX = 1_000
/** Up to this many inboxes are refreshed singly; for more, the newest page is reloaded first. */
const SINGLE_MAX = 3
/** Limits a stream of new mail to about two requests a second. */
const GATHER_MS = 1_000

/**
 * Keeps the list current while a person is signed in. After an error, the last list is kept; pages
 * report the error.
 */
export function useInboxList(): void {
  const refreshSoon = useGathered(() => {
    void refresh(changed.splice(0)).then((left) => {
      changed.push(...left)
      if (left.length > 0) refreshSoon()
    })
  }, GATHER_MS)
  const changed = useChangedInboxes(refreshSoon)
  useEffect(() => {
    if (!isApprover.value) readAllInboxes().catch(() => {})
    return () => {
      inboxList.value = null
    }
  }, [])
}

/**
 * Reloads the newest inboxes, for example after one was created or deleted, and returns their ids.
 */
export async function readInboxes(): Promise<ReadonlySet<string>> {
  const page = await client.inboxes
    .list({ limit: PAGE })
    .page()
    .catch(() => null)
  if (page === null) return new Set()
  const fresh = new Set(page.data.map(({ id }) => id))
  const older = inboxList.value?.inboxes.filter(({ id }) => !fresh.has(id)) ?? []
  const inboxes = page.total <= page.data.length ? page.data : [...page.data, ...older]
  inboxList.value = { inboxes: inboxes.slice(0, page.total), total: page.total }
  return fresh
}

let reading: Promise<void> | null = null

/** Loads missing inboxes, up to KNOWN_MAX. Concurrent calls share one request. */
export function readAllInboxes(): Promise<void> {
  reading ??= readOthers().finally(() => {
    reading = null
  })
  return reading
}

async function readOthers(): Promise<void> {
  if (inboxList.value === null) await readInboxes()
  for (;;) {
    const list = inboxList.value
    if (list === null || list.inboxes.length >= Math.min(list.total, KNOWN_MAX)) return
    const { data, total } = await client.inboxes
      .list({ limit: PAGE, offset: list.inboxes.length })
      .page()
    const known = new Set(list.inboxes.map(({ id }) => id))
    const more = data.filter(({ id }) => !known.has(id))
    inboxList.value = { inboxes: [...list.inboxes, ...more], total }
    if (more.length === 0) return
  }
}

/** Refreshes the given inboxes and returns the ones that did not fit into this round. */
async function refresh(ids: readonly string[]): Promise<string[]> {
  const known = new Set(inboxList.value?.inboxes.map(({ id }) => id))
  const isPage = ids.length > SINGLE_MAX || ids.some((id) => !known.has(id))
  const done = isPage ? await readInboxes() : new Set<string>()
  const rest = ids.filter((id) => !done.has(id))
  const read = await Promise.all(
    rest.slice(0, SINGLE_MAX).map((id) => client.inboxes.get(id).catch(() => null)),
  )
  const list = inboxList.value
  if (list === null) return []
  const fresh = new Map(
    read.flatMap((inbox) => (inbox === null ? [] : [[inbox.id, inbox] as const])),
  )
  inboxList.value = {
    ...list,
    inboxes: list.inboxes.map((inbox) => fresh.get(inbox.id) ?? inbox),
  }
  return rest.slice(SINGLE_MAX)
}

export function isInboxLike({ address, displayName }: Inbox, words: string): boolean {
  return `${address} ${displayName ?? ''}`.toLowerCase().includes(words.trim().toLowerCase())
}

/** Shortens an address on the usual domain to its local part, because the column is narrow. */
export function shortAddress({ address }: Inbox): string {
  const at = address.lastIndexOf('@')
  return address.slice(at) === commonDomain.value ? address.slice(0, at) : address
}

const commonDomain = computed(() => {
  const counts = new Map<string, number>()
  for (const { address } of inboxList.value?.inboxes ?? []) {
    const domain = address.slice(address.lastIndexOf('@'))
    counts.set(domain, (counts.get(domain) ?? 0) + 1)
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0]
})
