// Waiting writes of one transaction share its statements and its commit on PostgreSQL.

import type { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { AnyTransaction, GroupedInput, Transaction } from './db.ts'
import { asStorageError, isLockTimeout, tooManyWrites } from './storage-error.ts'
import { WRITE_QUEUE_MAX, WRITE_WAIT_MS_MAX } from './write-slots.ts'

const WRITE_GROUP_MAX = 50
/** Maximum octets that a group sends, unless its first write alone sends more. */
export const WRITE_GROUP_BYTES_MAX = 2 * 1024 * 1024
/** Larger writes are not grouped, because a group is built as one text in memory. */
export const WRITE_GROUPED_BYTES_MAX = 8 * 1024 * 1024
const SHARED_LOCK_WAIT_MS_MAX = SECOND_MS / 2

/** Statements wait `lockWaitMs` for a row; null for no limit. */
type RunTogether<Schema> = (
  transaction: AnyTransaction<Schema>,
  writes: readonly GroupedInput<never>[],
  lockWaitMs: number | null,
) => Promise<unknown[]>

type Waiting = {
  readonly accountId: string | null
  readonly write: GroupedInput<never>
  readonly bytes: number
  readonly timer: NodeJS.Timeout
  readonly done: PromiseWithResolvers<unknown>
}

type Queue<Schema> = {
  readonly transaction: AnyTransaction<Schema>
  /** In the order in which accounts are served. */
  readonly waiting: Map<string | null, Set<Waiting>>
  /** Accounts whose writes currently run separately. Further writes of these accounts wait. */
  readonly apart: Set<string | null>
  isUnderWay: boolean
}

/**
 * Accounts take turns in a group. If it fails or waits too long for a row, the writes of each
 * account run apart, so no account fails or waits longer because of another.
 */
export class WriteGroups<Schema> {
  readonly #slots: Pick<Semaphore, 'run'>
  readonly #runTogether: RunTogether<Schema>
  readonly #queues = new Map<string, Queue<Schema>>()

  constructor(slots: Pick<Semaphore, 'run'>, runTogether: RunTogether<Schema>) {
    this.#slots = slots
    this.#runTogether = runTogether
  }

  /** Returns null, without effect, if this write must run alone. */
  write<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    write: GroupedInput<NoInfer<Input>>,
  ): Promise<Value> | null {
    const bytes = transaction.group?.sizeOf(write.input) ?? null
    if (bytes === null || bytes > WRITE_GROUPED_BYTES_MAX) return null
    const accountId = transaction.accountOf(write.input)
    const queue = this.#queues.get(transaction.name) ?? {
      transaction,
      waiting: new Map(),
      apart: new Set(),
      isUnderWay: false,
    }
    this.#queues.set(transaction.name, queue)
    const own = queue.waiting.get(accountId) ?? new Set()
    if (own.size >= WRITE_QUEUE_MAX / 2) return Promise.reject(tooManyWrites())
    queue.waiting.set(accountId, own)
    const done = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => refuse(queue, [one], tooManyWrites()), WRITE_WAIT_MS_MAX)
    const one = { accountId, write: write as GroupedInput<never>, bytes, timer, done }
    own.add(one)
    void this.#work(queue)
    return done.promise as Promise<Value>
  }

  async #work(queue: Queue<Schema>): Promise<void> {
    if (queue.isUnderWay) return
    queue.isUnderWay = true
    while (sharing(queue).length > 0) {
      try {
        await this.#slots.run({ key: queue.transaction.name }, async () => {
          const group = takeGroup(queue)
          if (group.length > 0) await this.#run(queue, group, { isShared: true })
        })
      } catch (error) {
        refuse(
          queue,
          sharing(queue).flatMap(([, own]) => [...own]),
          error,
        )
      }
    }
    queue.isUnderWay = false
  }

  async #run(
    queue: Queue<Schema>,
    group: readonly Waiting[],
    { isShared }: { isShared: boolean },
  ): Promise<void> {
    const byAccount = Map.groupBy(group, ({ accountId }) => accountId)
    const writes = group.map(({ write }) => write)
    const lockWaitMs = isShared ? SHARED_LOCK_WAIT_MS_MAX : null
    try {
      const values = await this.#runTogether(queue.transaction, writes, lockWaitMs)
      for (const [index, { done }] of group.entries()) done.resolve(values[index])
    } catch (error) {
      const storage = asStorageError(error)
      const mayEndApart = byAccount.size > 1 && storage === null
      if (isShared && (mayEndApart || isLockTimeout(error))) {
        for (const [accountId, own] of byAccount) void this.#runApart(queue, accountId, own)
        return
      }
      // After a lost connection the outcome is unknown, so nothing may be retried.
      if (storage !== null || group.length === 1) for (const { done } of group) done.reject(error)
      // Run one after the other, because they would wait for each other's rows.
      else for (const one of group) await this.#run(queue, [one], { isShared: false })
    }
  }

  async #runApart(
    queue: Queue<Schema>,
    accountId: string | null,
    own: readonly Waiting[],
  ): Promise<void> {
    queue.apart.add(accountId)
    try {
      await this.#slots.run({ key: accountId ?? '' }, () =>
        this.#run(queue, own, { isShared: false }),
      )
    } catch (error) {
      for (const { done } of own) done.reject(error)
    }
    queue.apart.delete(accountId)
    void this.#work(queue)
  }
}

function sharing<Schema>({ waiting, apart }: Queue<Schema>): [string | null, Set<Waiting>][] {
  return [...waiting].filter(([accountId]) => !apart.has(accountId))
}

function refuse<Schema>(queue: Queue<Schema>, some: readonly Waiting[], error: unknown): void {
  for (const one of some) {
    leave(queue, one)
    one.done.reject(error)
  }
}

function leave<Schema>({ waiting }: Queue<Schema>, one: Waiting): void {
  clearTimeout(one.timer)
  const own = waiting.get(one.accountId)
  own?.delete(one)
  if (own?.size === 0) waiting.delete(one.accountId)
}

/** Takes one write from each account in turn, oldest first. */
function takeGroup<Schema>(queue: Queue<Schema>): Waiting[] {
  const group: Waiting[] = []
  let bytes = 0
  for (;;) {
    const before = group.length
    for (const [accountId, own] of sharing(queue)) {
      const [one] = own
      if (one === undefined) continue
      bytes += one.bytes
      const isFull = group.length >= WRITE_GROUP_MAX || bytes > WRITE_GROUP_BYTES_MAX
      if (group.length > 0 && isFull) return group
      leave(queue, one)
      group.push(one)
      if (!queue.waiting.delete(accountId)) continue
      queue.waiting.set(accountId, own)
    }
    if (group.length === before) return group
  }
}
