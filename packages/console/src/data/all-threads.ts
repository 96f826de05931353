// Merges the threads of all inboxes into one list, newest first. The API lists threads by inbox, so
// this reads the inboxes with the newest mail, and no further than the list needs.

import { type Inbox, MailroomError, type Thread } from '@mailroom/sdk'
import { client } from './session.ts'

const AT_ONCE = 6
/**
 * Limits the requests for one list. An inbox whose newest mail was removed may contribute nothing.
 */
const READS_MAX = 90
const STEP = 20
const NEWEST_POSSIBLE = '9999'

type Filter = Pick<
  NonNullable<Parameters<typeof client.threads.list>[1]>,
  'is_read' | 'direction' | 'trashed' | 'snoozed' | 'category' | 'labels' | 'assignee'
>

type Source = {
  readonly inbox: Inbox
  /** An upper bound of the times of the inbox's threads; null if the inbox is empty. */
  readonly newest: string | null
  readonly threads: readonly Thread[]
  readonly isWhole: boolean
}

type AllThreads = {
  readonly threads: readonly Thread[]
  readonly hasMore: boolean
}

/** The first `count` threads of the inboxes, or fewer after READS_MAX requests. */
export async function readAllThreads(
  inboxes: readonly Inbox[],
  asked: { count: number; filter: Filter; signal: AbortSignal },
): Promise<AllThreads> {
  const { count, filter, signal } = asked
  const isUnreadOnly = filter.is_read === false
  const sources: Source[] = inboxes.map((inbox) => ({
    inbox,
    // `lastMessageAt` of an inbox does not include the trash.
    newest: filter.trashed ? NEWEST_POSSIBLE : inbox.lastMessageAt,
    threads: [],
    isWhole:
      !filter.trashed &&
      (inbox.lastMessageAt === null || (isUnreadOnly && inbox.unreadThreads === 0)),
  }))
  for (let reads = 0; ; reads += AT_ONCE) {
    const threads = sources
      .flatMap((source) => source.threads)
      .sort((a, b) => b.lastMessageAt.localeCompare(a.lastMessageAt))
    const open = sources
      .filter((source) => !source.isWhole)
      .sort((a, b) => newestLeft(b).localeCompare(newestLeft(a)))
    const [newest] = open
    // A thread older than the next unread one of another inbox cannot be placed yet.
    const sure =
      newest === undefined
        ? threads
        : threads.filter((one) => one.lastMessageAt >= newestLeft(newest))
    if (newest === undefined || sure.length >= count || reads >= READS_MAX) {
      const hasMore = newest !== undefined || threads.length > count
      return { threads: sure.slice(0, count), hasMore }
    }
    await Promise.all(
      open.slice(0, AT_ONCE).map(async (source) => {
        sources[sources.indexOf(source)] = await readOn(source, filter, signal)
      }),
    )
  }
}

/** The time of the newest thread that the source may still return. */
function newestLeft({ newest, threads }: Source): string {
  return threads.at(-1)?.lastMessageAt ?? newest ?? ''
}

async function readOn(source: Source, filter: Filter, signal: AbortSignal): Promise<Source> {
  const { inbox, threads } = source
  try {
    const page = await client.threads
      .list(inbox.id, { ...filter, limit: STEP, offset: threads.length, signal })
      .page()
    const known = new Set(threads.map(({ id }) => id))
    const all = [...threads, ...page.data.filter(({ id }) => !known.has(id))]
    return { ...source, threads: all, isWhole: page.data.length < STEP || all.length >= page.total }
  } catch (error) {
    // The inbox was deleted in the meantime.
    if (error instanceof MailroomError && error.status === 404) {
      return { ...source, threads: [], isWhole: true }
    }
    throw error
  }
}
