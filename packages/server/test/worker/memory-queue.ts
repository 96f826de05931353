// A queue in memory, for what a dispatcher does with thousands of lanes: it costs nothing, so that what
// is measured is the dispatcher.

import type {
  AttemptObserver,
  DispatchedQueue,
  GroupOutcome,
  Item,
  LaneShare,
} from '#queue/dispatched-queue.ts'

export type MemoryQueue = DispatchedQueue<Item> & {
  /** `count` items for each lane, of this account or of the one that the lane has. */
  add(lanes: string[], count: number, sizeBytes?: number, owner?: string): void
}

export type MemoryQueueOptions = {
  /** What becomes of an item that was begun. */
  deliver(item: Item, signal: AbortSignal, observer?: AttemptObserver): Promise<GroupOutcome>
  /** Whose a lane is; nobody's, if nothing is said. */
  ownerOf?(lane: string): string
}

export function openMemoryQueue({ deliver, ownerOf }: MemoryQueueOptions): MemoryQueue {
  const ready = new Map<string, Item[]>()
  const lanesOf = new Map<string, Map<string, number>>()
  const note = ({ account_id, lane }: Item, by: 1 | -1) => {
    const lanes = lanesOf.get(account_id) ?? new Map<string, number>()
    lanesOf.set(account_id, lanes)
    lanes.set(lane, (lanes.get(lane) ?? 0) + by)
    if (lanes.get(lane) === 0) lanes.delete(lane)
  }
  let added = 0
  return {
    add(lanes, count, sizeBytes = 1_000, owner) {
      for (const lane of lanes) {
        const items = ready.get(lane) ?? []
        ready.set(lane, items)
        for (let index = 0; index < count; index++) {
          const account_id = owner ?? ownerOf?.(lane) ?? 'account'
          const item = { id: `item-${added++}`, account_id, lane, size_bytes: sizeBytes }
          items.push(item)
          note(item, 1)
        }
      }
    },
    async listReadyLanes(after, limit) {
      const names = [...ready].flatMap(([lane, items]) => (items.length > 0 ? [lane] : []))
      return namesAfter(names, { after, limit })
    },
    findOwners: async (lanes) =>
      new Map(lanes.flatMap((lane) => (ownerOf === undefined ? [] : [[lane, ownerOf(lane)]]))),
    async listReadyOwners(after, limit) {
      const owners = [...lanesOf].flatMap(([owner, lanes]) => (lanes.size > 0 ? [owner] : []))
      return namesAfter(owners, { after, limit })
    },
    listOwnerLanes: async (owner, after, limit) =>
      namesAfter([...(lanesOf.get(owner)?.keys() ?? [])], { after, limit }),
    async claim(lanes) {
      const taken = lanes.flatMap((share) => take(ready, share))
      for (const item of taken) note(item, -1)
      return taken
    },
    group: (held) => held.map((item) => [item]),
    readyDue: () => Promise.resolve(),
    renew: () => Promise.resolve(),
    async giveBack(held) {
      for (const item of held) {
        ready.get(item.lane)?.unshift(item)
        note(item, 1)
      }
    },
    deliver: ([item], signal, observer) => deliver(item, signal, observer),
  }
}

function namesAfter(names: string[], { after, limit }: { after: string; limit: number }): string[] {
  return names
    .filter((name) => name > after)
    .sort()
    .slice(0, limit)
}

function take(ready: Map<string, Item[]>, { lane, limit, owner }: LaneShare): Item[] {
  const items = ready.get(lane) ?? []
  if (owner === undefined) return items.splice(0, limit)
  const taken: Item[] = []
  const left = items.filter((item) => {
    if (item.account_id !== owner || taken.length === limit) return true
    taken.push(item)
    return false
  })
  ready.set(lane, left)
  return taken
}
