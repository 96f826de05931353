// Writes that come while one of their kind and owner is under way are collected, and go together when it
// ends. A write that finds none under way goes at once.

import { SECOND_MS } from '#platform/units.ts'
import type { AnyTransaction, Db, GroupedInput, Transaction } from './db.ts'
import type { FairTurns } from './fair-turns.ts'
import { StorageError } from './storage-error.ts'

/** Transactions waiting for the writer; past it a write is refused as unavailable. */
export const WRITE_QUEUE_MAX = 5_000
/** How long a write waits for one of them before it is refused as busy. */
export const WRITE_WAIT_MS_MAX = 7 * SECOND_MS
/** Transactions under way that one account's writes of a kind are grouped into; further ones wait for the next. */
const WRITE_GROUPS_EACH_MAX = 1
/** Writes that share a transaction on PostgreSQL: past it a group takes longer and saves no more. */
const WRITE_GROUP_MAX = 50
/** Of such a group, by what it sends, unless its first has more by itself. */
export const WRITE_GROUP_BYTES_MAX = 2 * 1024 * 1024
/** A write that sends more by itself is not grouped: what a group sends is in memory as one text. */
export const WRITE_GROUPED_BYTES_MAX = 8 * 1024 * 1024

export type WriteGroupsOptions<Schema> = {
  writeGroup: NonNullable<Db<Schema>['writeGroup']>
  /** A group has one, as a write alone does. */
  turns: Pick<FairTurns, 'take' | 'give'>
  /**
   * The store has answered one of them, or all of a group alike, which is told once. Not called for what
   * was refused while it waited.
   */
  onSettled(owner: string | null, result: PromiseSettledResult<unknown>): void
}

type Waiting = {
  readonly write: GroupedInput<never>
  readonly bytes: number
  readonly timer: NodeJS.Timeout
  readonly done: PromiseWithResolvers<unknown>
}

type Queue<Schema> = {
  readonly owner: string | null
  readonly transaction: AnyTransaction<Schema>
  readonly waiting: Set<Waiting>
  underWay: number
}

export class WriteGroups<Schema> {
  readonly #options: WriteGroupsOptions<Schema>
  readonly #queues = new Map<string, Queue<Schema>>()

  constructor(options: WriteGroupsOptions<Schema>) {
    this.#options = options
  }

  /**
   * Null where this write has to be alone, and nothing was done; else as `Db.write`. Refused as busy
   * when too many of its kind and account wait, and when it or its group's turn has waited for
   * WRITE_WAIT_MS_MAX.
   */
  write<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    write: GroupedInput<NoInfer<Input>>,
  ): Promise<Value> | null {
    const bytes = transaction.group?.sizeOf(write.input) ?? null
    if (bytes === null || bytes > WRITE_GROUPED_BYTES_MAX) return null
    const queue = this.#queueOf(transaction.accountOf(write.input), transaction)
    if (queue.waiting.size >= WRITE_QUEUE_MAX / 2) return Promise.reject(tooMany())
    const done = Promise.withResolvers<unknown>()
    const waiting: Waiting = {
      write: write as GroupedInput<never>,
      bytes,
      done,
      timer: setTimeout(() => {
        queue.waiting.delete(waiting)
        done.reject(tooMany())
      }, WRITE_WAIT_MS_MAX),
    }
    queue.waiting.add(waiting)
    if (queue.underWay < WRITE_GROUPS_EACH_MAX) void this.#work(queue)
    return done.promise as Promise<Value>
  }

  #queueOf(owner: string | null, transaction: AnyTransaction<Schema>): Queue<Schema> {
    const place = placeOf(owner, transaction)
    const queue = this.#queues.get(place) ?? { owner, transaction, waiting: new Set(), underWay: 0 }
    this.#queues.set(place, queue)
    return queue
  }

  /** One group after the other, while any wait. */
  async #work(queue: Queue<Schema>): Promise<void> {
    const { owner, transaction, waiting } = queue
    const { turns } = this.#options
    queue.underWay += 1
    while (waiting.size > 0) {
      try {
        const turn = turns.take(owner)
        if (turn !== null) await turn
      } catch (error) {
        refuseAll(waiting, error)
        break
      }
      await this.#run(queue)
      turns.give(owner)
    }
    queue.underWay -= 1
    if (queue.underWay === 0) this.#queues.delete(placeOf(owner, transaction))
  }

  /** Their results go to whoever waits for them. */
  async #run({ owner, transaction, waiting }: Queue<Schema>): Promise<void> {
    const { writeGroup, onSettled } = this.#options
    const group: Waiting[] = []
    const take = (accepts: (input: never) => boolean) =>
      moveTo(group, waiting, accepts).map(({ write }) => write)
    const first = take(() => true)
    if (first.length === 0) return
    const results = await writeGroup(transaction, first, take)
    let refusal: unknown = null
    for (const [index, result] of results.entries()) {
      const done = group[index]?.done
      if (result.status === 'fulfilled') {
        onSettled(owner, result)
        done?.resolve(result.value)
        continue
      }
      if (result.reason !== refusal) onSettled(owner, result)
      refusal = result.reason
      done?.reject(result.reason)
    }
  }
}

function placeOf<Schema>(owner: string | null, { name }: AnyTransaction<Schema>): string {
  return `${name} ${owner ?? ''}`
}

function refuseAll(waiting: Set<Waiting>, error: unknown): void {
  for (const { done, timer } of waiting) {
    clearTimeout(timer)
    done.reject(error)
  }
  waiting.clear()
}

/** Those that are accepted, the oldest first, as far as the group's bounds allow; returns them. */
function moveTo(
  group: Waiting[],
  waiting: Set<Waiting>,
  accepts: (input: never) => boolean,
): Waiting[] {
  const before = group.length
  let bytes = group.reduce((sum, one) => sum + one.bytes, 0)
  for (const one of waiting) {
    if (!accepts(one.write.input)) continue
    bytes += one.bytes
    const isFull = group.length >= WRITE_GROUP_MAX || bytes > WRITE_GROUP_BYTES_MAX
    if (group.length > 0 && isFull) break
    waiting.delete(one)
    clearTimeout(one.timer)
    group.push(one)
  }
  return group.slice(before)
}

function tooMany(): StorageError {
  return new StorageError('busy', 'Too many writes are waiting.')
}
