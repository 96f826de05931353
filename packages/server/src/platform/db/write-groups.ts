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

/**
 * Transactions under way with writes of several accounts, where there are slots for them: one is formed and sent
 * while another commits. More would be smaller, and cost more.
 */
const SHARED_GROUPS_MAX = 2

type WriteGroupsOptions<Schema> = {
  writeGroup: NonNullable<Db<Schema>['writeGroup']>
  /** A group takes one slot of its account, like a single write; groups of several accounts share a key. */
  slots: Pick<Semaphore, 'run'>
  /**
   * Called with the result of each write, but only once with the error of a whole group; `accountId` is null for
   * a group of several accounts. Not called for writes that were refused while they waited.
   */
  onSettled(accountId: string | null, result: PromiseSettledResult<unknown>): void
}

type Waiting = {
  readonly accountId: string | null
  readonly write: GroupedInput<never>
  readonly bytes: number
  readonly timer: NodeJS.Timeout
  readonly done: PromiseWithResolvers<unknown>
}

/** Writes that may form a group: of one transaction, and of one account unless it may have several. */
type Queue<Schema> = {
  readonly transaction: AnyTransaction<Schema>
  /** Of its slots. */
  readonly key: string
  readonly groupsMax: number
  /** The account to be served next stands first. */
  readonly waiting: Map<string | null, Set<Waiting>>
  /** Accounts with a group under way; their writes wait for its end. */
  readonly busy: Set<string | null>
  underWay: number
  /** Called when nothing waits or is under way. */
  readonly end: () => void
}

/**
 * Collects writes that come while groups of their transaction are under way; they form the next group. A write that
 * finds room for a group starts at once. Each account has at most one group under way, and accounts take turns in
 * the places of a group. Where a group of several accounts fails, each account's writes run apart, so that no
 * account fails or waits longer for another.
 */
export class WriteGroups<Schema> {
  readonly #options: WriteGroupsOptions<Schema>
  readonly #queues = new Map<string, Queue<Schema>>()

  constructor(options: WriteGroupsOptions<Schema>) {
    this.#options = options
  }

  /**
   * Null when this write must run alone; then nothing was done. Otherwise like `Db.write`. Refused as busy
   * when too many writes of its transaction and account wait, or when it has waited for WRITE_WAIT_MS_MAX.
   */
  write<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    write: GroupedInput<NoInfer<Input>>,
  ): Promise<Value> | null {
    const bytes = transaction.group?.sizeOf(write.input) ?? null
    if (bytes === null || bytes > WRITE_GROUPED_BYTES_MAX) return null
    const accountId = transaction.accountOf(write.input)
    const queue = this.#queueOf(transaction, accountId)
    const own = queue.waiting.get(accountId) ?? new Set()
    if (own.size >= WRITE_QUEUE_MAX / 2) return Promise.reject(tooManyWrites())
    queue.waiting.set(accountId, own)
    const done = Promise.withResolvers<unknown>()
    const refuse = () => refuseAll(queue, [one], tooManyWrites())
    const timer = setTimeout(refuse, WRITE_WAIT_MS_MAX)
    const one = { accountId, write: write as GroupedInput<never>, bytes, timer, done }
    own.add(one)
    this.#start(queue)
    return done.promise as Promise<Value>
  }

  #queueOf(transaction: AnyTransaction<Schema>, accountId: string | null): Queue<Schema> {
    const isShared = transaction.group?.isOfSeveralAccounts === true
    const place = isShared ? transaction.name : `${transaction.name} ${accountId ?? ''}`
    const queue = this.#queues.get(place) ?? {
      transaction,
      key: isShared ? transaction.name : (accountId ?? ''),
      groupsMax: isShared ? SHARED_GROUPS_MAX : 1,
      waiting: new Map(),
      busy: new Set(),
      underWay: 0,
      end: () => this.#queues.delete(place),
    }
    this.#queues.set(place, queue)
    return queue
  }

  #start(queue: Queue<Schema>): void {
    if (queue.underWay >= queue.groupsMax || idleAccounts(queue).length === 0) return
    queue.underWay += 1
    void this.#work(queue)
  }

  async #work(queue: Queue<Schema>): Promise<void> {
    const group: Waiting[] = []
    let isDone = false
    try {
      isDone = await this.#options.slots.run({ key: queue.key }, async () => {
        moveTo(group, queue, idleAccounts(queue), () => true)
        for (const { accountId } of group) queue.busy.add(accountId)
        return group.length === 0 || (await this.#run(queue, group))
      })
    } catch (error) {
      isDone = true
      const idle = idleAccounts(queue).flatMap((id) => [...(queue.waiting.get(id) ?? [])])
      refuseAll(queue, group.length > 0 ? group : idle, error)
    }
    queue.underWay -= 1
    if (!isDone) this.#runApart(queue, group)
    this.#free(queue, isDone ? group.map(({ accountId }) => accountId) : [])
  }

  /** Runs the group, and writes of its accounts that join it; false when its accounts have to run apart. */
  async #run(queue: Queue<Schema>, group: Waiting[]): Promise<boolean> {
    const accounts = new Set(group.map(({ accountId }) => accountId))
    const join = (accepts: (input: never) => boolean) =>
      moveTo(group, queue, accounts, accepts).map(({ write }) => write)
    const first = group.map(({ write }) => write)
    const results = await this.#options.writeGroup(queue.transaction, first, join)
    if (results !== null) this.#settle(group, results)
    return results !== null
  }

  #runApart(queue: Queue<Schema>, group: readonly Waiting[]): void {
    for (const [accountId, own] of Map.groupBy(group, (one) => one.accountId)) {
      void this.#options.slots
        .run({ key: accountId ?? '' }, () => this.#run(queue, own))
        .catch((error) => refuseAll(queue, own, error))
        .finally(() => this.#free(queue, [accountId]))
    }
  }

  #free(queue: Queue<Schema>, accounts: Iterable<string | null>): void {
    for (const accountId of accounts) queue.busy.delete(accountId)
    this.#start(queue)
    if (queue.underWay + queue.busy.size + queue.waiting.size === 0) queue.end()
  }

  #settle(group: readonly Waiting[], results: readonly PromiseSettledResult<unknown>[]): void {
    const accounts = new Set(group.map(({ accountId }) => accountId))
    const [first = null] = accounts
    const accountId = accounts.size === 1 ? first : null
    let refusal: unknown = null
    for (const [index, result] of results.entries()) {
      const done = group[index]?.done
      if (result.status === 'fulfilled') {
        this.#options.onSettled(accountId, result)
        done?.resolve(result.value)
        continue
      }
      if (result.reason !== refusal) this.#options.onSettled(accountId, result)
      refusal = result.reason
      done?.reject(result.reason)
    }
  }
}

function idleAccounts<Schema>({ waiting, busy }: Queue<Schema>): (string | null)[] {
  return [...waiting.keys()].filter((accountId) => !busy.has(accountId))
}

function refuseAll<Schema>(queue: Queue<Schema>, group: Iterable<Waiting>, error: unknown): void {
  for (const one of [...group]) {
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

/**
 * Moves accepted writes of these accounts to the group within its bounds, one of each account in turn, the oldest
 * first; returns them. Accounts with more writes are served last in the next group.
 */
function moveTo<Schema>(
  group: Waiting[],
  queue: Queue<Schema>,
  accounts: Iterable<string | null>,
  accepts: (input: never) => boolean,
): Waiting[] {
  const before = group.length
  let bytes = group.reduce((sum, one) => sum + one.bytes, 0)
  for (const one of inTurns(queue, accounts)) {
    if (!accepts(one.write.input)) continue
    bytes += one.bytes
    const isFull = group.length >= WRITE_GROUP_MAX || bytes > WRITE_GROUP_BYTES_MAX
    if (group.length > 0 && isFull) break
    leave(queue, one)
    group.push(one)
  }
  const moved = group.slice(before)
  for (const { accountId } of moved) {
    const rest = queue.waiting.get(accountId)
    if (rest === undefined) continue
    queue.waiting.delete(accountId)
    queue.waiting.set(accountId, rest)
  }
  return moved
}

function* inTurns<Schema>(
  { waiting }: Queue<Schema>,
  accounts: Iterable<string | null>,
): Generator<Waiting> {
  let places = [...accounts].flatMap((accountId) => waiting.get(accountId)?.values() ?? [])
  while (places.length > 0) {
    const after: typeof places = []
    for (const place of places) {
      const { value, done } = place.next()
      if (done === true) continue
      yield value
      after.push(place)
    }
    places = after
  }
}
