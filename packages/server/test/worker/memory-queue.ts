// A queue in memory, for tests of a dispatcher with thousands of lanes: it costs nothing, so that only the dispatcher
// is measured.

import type { DispatchedQueue, GroupOutcome, Head, Item } from '#queue/dispatched-queue.ts'

export type MemoryQueue = DispatchedQueue<Item> & {
  /** `count` items for each lane, of this account or of the lane's own. */
  add(lanes: string[], count: number, sizeBytes?: number, account?: string): void
}

export type MemoryQueueOptions = {
  /** The outcome of an item that was begun. */
  deliver(item: Item, signal: AbortSignal): Promise<GroupOutcome>
  /** The account of a lane; one account for all by default. */
  accountOf?(lane: string): string
}

export function openMemoryQueue({ deliver, accountOf }: MemoryQueueOptions): MemoryQueue {
  const ready = new Map<string, { key: string; head: Head; items: Item[] }>()
  const entryOf = (head: Head) => {
    const key = keyOf(head)
    const entry = ready.get(key) ?? { key, head, items: [] }
    ready.set(key, entry)
    return entry
  }
  let added = 0
  return {
    add(lanes, count, sizeBytes = 1_000, given) {
      for (const lane of lanes) {
        const account = given ?? accountOf?.(lane) ?? 'account'
        const { items } = entryOf({ account, lane })
        for (let index = 0; index < count; index++) {
          items.push({ id: `item-${added++}`, account_id: account, lane, size_bytes: sizeBytes })
        }
      }
    },
    async listHeads({ after, lanesEach, limit }) {
      const afterKey = keyOf(after)
      const heads = [...ready.values()]
        .filter(({ key, items }) => items.length > 0 && key > afterKey)
        .sort((one, other) => (one.key < other.key ? -1 : 1))
        .map(({ head }) => head)
      const counts = new Map<string, number>()
      return heads
        .filter(({ account }) => {
          const count = (counts.get(account) ?? 0) + 1
          counts.set(account, count)
          return count <= lanesEach
        })
        .slice(0, limit)
    },
    lease: async (shares) => shares.flatMap((share) => entryOf(share).items.splice(0, share.limit)),
    group: (held) => held.map((item) => [item]),
    readyDue: () => Promise.resolve(),
    renew: () => Promise.resolve(),
    async return(held) {
      for (const item of held) {
        entryOf({ account: item.account_id, lane: item.lane }).items.unshift(item)
      }
    },
    deliver: ([item], signal) => deliver(item, signal),
  }
}

function keyOf({ account, lane }: Head): string {
  return `${account} ${lane}`
}
