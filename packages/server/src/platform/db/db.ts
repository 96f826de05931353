// The database port: reads run on read-only connections, writes are declared transactions. Only the
// files of this folder know the differences between the engines.

import type { MessagePort } from 'node:worker_threads'
import type { Kysely } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

export type Tx<Schema> = {
  readonly engine: Engine
  readonly query: Kysely<Schema>
  /** Runs compiled SQL directly on the embedded engine; null on PostgreSQL. */
  readonly runSql: RunSql | null
  /** A W3C traceparent; absent if the transaction is not traced. */
  readonly traceParent?: string
}

export type RunSql = (sql: string, parameters: readonly unknown[]) => unknown[]

/**
 * A write without I/O, clock or randomness of its own. SQLite runs the write in another thread by
 * its `name`, so its input and result must survive a structured clone.
 */
export type Transaction<Schema, Input, Value> = {
  readonly name: string
  /** The account or approver whose share it uses; null for the service or several accounts. */
  readonly accountOf: (input: Input) => string | null
  /** Whether the write removes data that must not remain in the database or its log. */
  readonly erasing: boolean
  /**
   * Whether the write runs even on a full disk, because it frees space or helps to free it. Erasing
   * transactions always run.
   */
  readonly essential: boolean
  readonly group: GroupForm<Schema, Input, Value> | null
  readonly run: (tx: Tx<Schema>, input: Input) => Promise<Value>
}

export type AnyTransaction<Schema> = Transaction<Schema, never, unknown>

const declaredByName = new Map<string, object>()

export function declaredTransactions<Schema>(): ReadonlyMap<string, AnyTransaction<Schema>> {
  return declaredByName as Map<string, AnyTransaction<Schema>>
}

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

type GroupForm<Schema, Input, Value> = {
  /** Approximate octets that the input sends to the server; null if the write must run alone. */
  sizeOf(input: Input): number | null
  run(tx: Tx<Schema>, writes: readonly GroupedInput<Input>[]): Promise<Value[]>
}

export type GroupedInput<Input> = { readonly input: Input; readonly traceParent?: string }

export type Reading<Schema> = {
  readonly read: Kysely<Schema>
  readonly reading: Tx<Schema>
}

/**
 * A read that may take long. If `signal` aborts, `run` returns its result so far. SQLite runs it in
 * another thread by its `name`, so its input and result must survive a structured clone.
 */
export type LongRead<Schema, Input, Value> = {
  readonly name: string
  run(db: Reading<Schema>, input: Input, signal: AbortSignal): Promise<Value>
}

export type AnyLongRead<Schema> = LongRead<Schema, never, unknown>

export type Db<Schema> = Reading<Schema> & {
  readonly engine: Engine
  /** Describes the database for the log, without credentials. */
  readonly description: string
  /** Does not block this thread. Rejects with a `StorageError` if the store cannot answer. */
  readLong<Input, Value>(
    read: LongRead<Schema, Input, Value>,
    input: NoInfer<Input>,
    signal: AbortSignal,
  ): Promise<Value>
  /**
   * Resolves once the commit is on disk. Waiting writes share commits, but a failing one does not
   * fail the others. Rejects with a `StorageError` if the store cannot accept the write. Nothing
   * was stored then, unless the connection was lost during the commit.
   */
  write<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    input: NoInfer<Input>,
    traceParent?: string,
  ): Promise<Value>
  check(): Promise<void>
  /** Connections of this process; `waiting` is the number of callers waiting for one. */
  connections?(): Readonly<Record<'busy' | 'idle' | 'waiting', number>>
  /** A port with which another thread opens the database. Absent on PostgreSQL. */
  shareWriter?(): MessagePort
  /**
   * Overwrites unused bytes of the files, in steps between other writes, so that nothing removed
   * before the call is left in them. Rejects with a `StorageError` if it cannot finish. Absent on
   * PostgreSQL.
   */
  overwriteUnused?(): Promise<void>
  /** Waits for pending writes. Idempotent. */
  close(): Promise<void>
}

export type ReadingDb<Schema> = Reading<Schema> & Pick<Db<Schema>, 'close'>

export type DbObserver = {
  committed(groupSize: number, durationMs: number): void
}

/** Notifies all processes on the database that something may have changed. May be lost. */
export type Signals = {
  /** Called after the commit. Never fails. */
  notify(): void
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
