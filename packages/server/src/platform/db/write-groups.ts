import type { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { AnyTransaction, Db, GroupedInput, Transaction } from './db.ts'
import { tooManyWrites } from './storage-error.ts'

/** Writes that may wait; further writes are refused as busy. */
export const WRITE_QUEUE_MAX = 5_000
/**
 * Concurrent writes on PostgreSQL. Writes that wait for each other's rows must leave connections to readers.
 */
export const POSTGRES_WRITES_MAX = 7
export const WRITE_WAIT_MS_MAX = 7 * SECOND_MS
/** Writes that share a transaction on PostgreSQL. Larger groups take longer and save no more. */
const WRITE_GROUP_MAX = 50
/** The octets that such a group may send, unless its first write alone sends more. */
export const WRITE_GROUP_BYTES_MAX = 2 * 1024 * 1024
/** A write that sends more is not grouped, because a group is sent as one text in memory. */
export const WRITE_GROUPED_BYTES_MAX = 8 * 1024 * 1024

type WriteGroupsOptions<Schema> = {
  writeGroup: NonNullable<Db<Schema>['writeGroup']>
  /** A group takes one slot of its account, like a single write. */
  slots: Pick<Semaphore, 'run'>
  /**
   * Called with the result of each write, but only once with the error of a whole group. Not called for
   * writes that were refused while they waited.
   */
  onSettled(accountId: string | null, result: PromiseSettledResult<unknown>): void
}

type Waiting = {
  readonly write: GroupedInput<never>
  readonly bytes: number
  readonly timer: NodeJS.Timeout
  readonly done: PromiseWithResolvers<unknown>
}

/**
 * Collects writes that come while a group of their transaction and account is under way; they form the next
 * group. A write that finds no such group starts at once.
 */
export function groupWrites<Schema>({ writeGroup, slots, onSettled }: WriteGroupsOptions<Schema>) {
  /** Writes for the next group of a transaction and account; absent while no group is under way. */
  const queues = new Map<string, Set<Waiting>>()

  const runGroup = async (
    transaction: AnyTransaction<Schema>,
    accountId: string | null,
    waiting: Set<Waiting>,
  ) => {
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
        onSettled(accountId, result)
        done?.resolve(result.value)
        continue
      }
      if (result.reason !== refusal) onSettled(accountId, result)
      refusal = result.reason
      done?.reject(result.reason)
    }
  }

  const work = async (
    transaction: AnyTransaction<Schema>,
    accountId: string | null,
    place: string,
    waiting: Set<Waiting>,
  ) => {
    queues.set(place, waiting)
    const run = () => runGroup(transaction, accountId, waiting)
    while (waiting.size > 0) {
      await slots.run({ key: accountId ?? '' }, run).catch((error) => refuseAll(waiting, error))
    }
    queues.delete(place)
  }

  /**
   * Null when this write must run alone; then nothing was done. Otherwise like `Db.write`. Refused as busy
   * when too many writes of its transaction and account wait, or when it has waited for WRITE_WAIT_MS_MAX.
   */
  return <Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    write: GroupedInput<NoInfer<Input>>,
  ): Promise<Value> | null => {
    const bytes = transaction.group?.sizeOf(write.input) ?? null
    if (bytes === null || bytes > WRITE_GROUPED_BYTES_MAX) return null
    const accountId = transaction.accountOf(write.input)
    const place = `${transaction.name} ${accountId ?? ''}`
    const waiting = queues.get(place) ?? new Set()
    if (waiting.size >= WRITE_QUEUE_MAX / 2) return Promise.reject(tooManyWrites())
    const done = Promise.withResolvers<unknown>()
    const refuse = () => {
      waiting.delete(one)
      done.reject(tooManyWrites())
    }
    const timer = setTimeout(refuse, WRITE_WAIT_MS_MAX)
    const one: Waiting = { write: write as GroupedInput<never>, bytes, timer, done }
    waiting.add(one)
    if (!queues.has(place)) void work(transaction, accountId, place, waiting)
    return done.promise as Promise<Value>
  }
}

function refuseAll(waiting: Set<Waiting>, error: unknown): void {
  for (const { done, timer } of waiting) {
    clearTimeout(timer)
    done.reject(error)
  }
  waiting.clear()
}

/** Moves accepted writes to the group, the oldest first, within its bounds; returns them. */
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
