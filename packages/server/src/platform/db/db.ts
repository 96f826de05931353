// The database port: reads are queries on read-only connections, writes are declared transactions. The files of this
// folder know the differences between the engines; others ask only whether several processes may share the database.

import type { MessagePort } from 'node:worker_threads'
import type { Kysely } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

/** What a transaction works with. Its statements commit or fail together. */
export type Tx<Schema> = {
  readonly engine: Engine
  readonly query: Kysely<Schema>
  /** Runs compiled SQL directly on the embedded engine; null on PostgreSQL. */
  readonly runSql: RunSql | null
  /** The span of the transaction, as a W3C traceparent; absent when nothing is traced. */
  readonly traceParent?: string
}

export type RunSql = (sql: string, parameters: readonly unknown[]) => unknown[]

/**
 * A write and its properties. `run` is a function of `tx` and plain data, without I/O, clock or randomness of
 * its own. Input and result must survive a structured clone, because the embedded engine runs the transaction
 * in another thread, by its `name`.
 */
export type Transaction<Schema, Input, Value> = {
  readonly name: string
  /** The account, or the approver, whose share of the writes it uses; null for the service or several accounts. */
  readonly accountOf: (input: Input) => string | null
  /** It removes data that must not stay in the database or its log. */
  readonly erasing: boolean
  /**
   * It runs when the disk is full, because it makes room or is needed for that. Erasing transactions always
   * do.
   */
  readonly essential: boolean
  readonly group: GroupForm<Schema, Input, Value> | null
  readonly run: (tx: Tx<Schema>, input: Input) => Promise<Value>
}

export type AnyTransaction<Schema> = Transaction<Schema, never, unknown>

const declaredByName = new Map<string, object>()

/** The transactions of all modules that are loaded, by their names. */
export function declaredTransactions<Schema>(): ReadonlyMap<string, AnyTransaction<Schema>> {
  return declaredByName as Map<string, AnyTransaction<Schema>>
}

/** Throws when another transaction has the name. */
export function transaction<Schema, Input, Value>({
  essential = false,
  erasing = false,
  group = null,
  ...declared
}: Pick<Transaction<Schema, Input, Value>, 'name' | 'accountOf' | 'run'> &
  Partial<Transaction<Schema, Input, Value>>): Transaction<Schema, Input, Value> {
  const { name } = declared
  if (declaredByName.has(name)) throw new Error(`Two transactions are named ${name}`)
  const made = { ...declared, essential: essential || erasing, erasing, group }
  declaredByName.set(name, made)
  return made
}

export function groupTransaction<Schema, Input, Value>({
  group,
  ...declared
}: Omit<Parameters<typeof transaction<Schema, Input, Value>>[0], 'run' | 'group'> & {
  group: GroupForm<Schema, Input, Value>
}): Transaction<Schema, Input, Value> {
  return transaction({
    ...declared,
    group,
    async run(tx, input) {
      const { traceParent } = tx
      const write = traceParent === undefined ? { input } : { input, traceParent }
      const [value] = await group.run(tx, [write])
      return value as Value
    },
  })
}

/** Runs a transaction for several inputs. Each result is as if the inputs had run one after the other. */
type GroupForm<Schema, Input, Value> = {
  /** The approximate size that the input sends to the server, in octets; null when it must run alone. */
  sizeOf(input: Input): number | null
  run(tx: Tx<Schema>, writes: readonly GroupedInput<Input>[]): Promise<Value[]>
}

export type GroupedInput<Input> = { readonly input: Input; readonly traceParent?: string }

/** What a read works with. */
export type Reading<Schema> = {
  readonly read: Kysely<Schema>
  /** The same connections, for compiled statements. */
  readonly reading: Tx<Schema>
}

/**
 * A read that may take long, a function of the database and plain data. `run` ends early, with what it has, once
 * `signal` is aborted. Input and result must survive a structured clone, because the embedded engine runs the read in
 * another thread, by its `name`.
 */
export type LongRead<Schema, Input, Value> = {
  readonly name: string
  run(db: Reading<Schema>, input: Input, signal: AbortSignal): Promise<Value>
}

export type AnyLongRead<Schema> = LongRead<Schema, never, unknown>

export type Db<Schema> = Reading<Schema> & {
  readonly engine: Engine
  /** Engine, version and place, without credentials, for the log. */
  readonly description: string
  /**
   * Runs a read where it does not block this thread. The caller bounds how many it has under way. Rejects with a
   * `StorageError` when the store cannot answer now.
   */
  readLong<Input, Value>(
    read: LongRead<Schema, Input, Value>,
    input: NoInfer<Input>,
    signal: AbortSignal,
  ): Promise<Value>
  /**
   * Runs one transaction and resolves once its commit is on disk. Writes that wait share commits; one that fails
   * fails alone. Accounts take turns, and none can use all slots. Rejects with a `StorageError` when the
   * store cannot take it; then nothing was kept, unless the connection was lost during the commit.
   * `traceParent` is stored in rows that continue the trace.
   */
  write<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    input: NoInfer<Input>,
    traceParent?: string,
  ): Promise<Value>
  /** Resolves when a read succeeds; rejects with a `StorageError` otherwise. */
  check(): Promise<void>
  /** The number of connections of this process by state; `waiting` counts callers that wait for one. */
  connections?(): Readonly<Record<'busy' | 'idle' | 'waiting', number>>
  /**
   * Lets another thread write: it opens the database with the port, which brings it a port to the writer now and each
   * time the writer had to start again. Absent on an engine whose threads connect by themselves.
   */
  shareWriter?(): MessagePort
  /**
   * Overwrites what removed rows have left in the unused bytes of the files, in steps between which others write. After
   * it, nothing that was removed before the call is in the files. Rejects with a `StorageError` when it cannot end.
   * Absent on an engine that does not give access to its files.
   */
  overwriteUnused?(): Promise<void>
  /** Waits for writes under way, then closes everything. Idempotent. */
  close(): Promise<void>
}

export type ReadingDb<Schema> = Reading<Schema> & Pick<Db<Schema>, 'close'>

export type DbObserver = {
  committed(groupSize: number, durationMs: number): void
}

/**
 * Notifications that something may have changed: to listeners in this process, and to the processes that
 * share the database. They carry nothing and may be lost.
 */
export type Signals = {
  /** To be called after the commit. Never fails. */
  notify(): void
  /** Calls `run` at each notification by any process. */
  listen(run: () => void): void
  close(): Promise<void>
}

export function openOwnSignals(): Signals {
  const listeners: (() => void)[] = []
  return {
    notify() {
      for (const run of listeners) run()
    },
    listen: (run) => void listeners.push(run),
    close: () => Promise.resolve(),
  }
}
