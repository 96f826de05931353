// A queue in memory, for what a dispatcher does with thousands of lanes: it costs nothing, so that what
// is measured is the dispatcher.

import type { DispatchedQueue, GroupOutcome, Item } from '#jobs/dispatched-queue.ts'

export type MemoryQueue = DispatchedQueue<Item> & {
  /** `count` items for each lane. */
  add(lanes: string[], count: number, sizeBytes?: number): void
}

export type MemoryQueueOptions = {
  /** What becomes of an item that was begun. */
  deliver(
    item: Item,
    signal: AbortSignal,
    onSize?: (sizeBytes: number) => void,
  ): Promise<GroupOutcome>
  /** Whose a lane is; nobody's, if nothing is said. */
  ownerOf?(lane: string): string
}

export function openMemoryQueue({ deliver, ownerOf }: MemoryQueueOptions): MemoryQueue {
  const ready = new Map<string, Item[]>()
  let added = 0
  return {
    add(lanes, count, sizeBytes = 1_000) {
      for (const lane of lanes) {
        const items = ready.get(lane) ?? []
        ready.set(lane, items)
        for (let index = 0; index < count; index++) {
          items.push({ id: `item-${added++}`, lane, size_bytes: sizeBytes })
        }
      }
    },
    async listReadyLanes(after, limit) {
      const names = [...ready.entries()].flatMap(([lane, items]) =>
        items.length > 0 && lane > after ? [lane] : [],
      )
      return names.sort().slice(0, limit)
    },
    findOwners: async (lanes) =>
      new Map(lanes.flatMap((lane) => (ownerOf === undefined ? [] : [[lane, ownerOf(lane)]]))),
    claim: async (lanes) =>
      lanes.flatMap(({ lane, limit }) => ready.get(lane)?.splice(0, limit) ?? []),
    group: (held) => held.map((item) => [item]),
    readyDue: () => Promise.resolve(),
    renew: () => Promise.resolve(),
    async giveBack(held) {
      for (const item of held) ready.get(item.lane)?.unshift(item)
    },
    deliver: ([item], signal, onSize) => deliver(item, signal, onSize),
  }
}
