// The database port: reads are queries on read-only connections, writes are declared transactions.
// Two engines speak it, and nothing above this floor may ask which one it has, except `dialect.ts`.

import type { Kysely } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

/** What a transaction works with. All it does commits or fails together. */
export type Tx<Schema> = {
  readonly engine: Engine
  readonly query: Kysely<Schema>
  /** The embedded engine's short way for SQL that is compiled already; null elsewhere. */
  readonly runSql: RunSql | null
  /** The span that it is part of, as a W3C traceparent; absent where nothing is traced. */
  readonly traceParent?: string
}

export type RunSql = (sql: string, parameters: readonly unknown[]) => unknown[]

/**
 * A write, with all that is true of it. `run` is a function of `tx` and plain data, without I/O, clock or
 * randomness of its own. Input and result must survive a structured clone, for the embedded engine runs it
 * in another thread, where `name` stands for it.
 */
export type Transaction<Schema, Input, Value> = {
  readonly name: string
  /** The account that pays for it with its share of the writes; null: the service, for itself or for several. */
  readonly accountOf: (input: Input) => string | null
  /** It removes what must not linger, neither in the database nor in its log. */
  readonly erasing: boolean
  /** It goes on when the disk is full: it makes room, or is needed for that. All that erase do. */
  readonly essential: boolean
  readonly group: GroupForm<Schema, Input, Value> | null
  readonly run: (tx: Tx<Schema>, input: Input) => Promise<Value>
}

export type AnyTransaction<Schema> = Transaction<Schema, never, unknown>

export function transaction<Schema, Input, Value>({
  essential = false,
  erasing = false,
  group = null,
  ...declared
}: Pick<Transaction<Schema, Input, Value>, 'name' | 'accountOf' | 'run'> &
  Partial<Transaction<Schema, Input, Value>>): Transaction<Schema, Input, Value> {
  return { ...declared, essential: essential || erasing, erasing, group }
}

/** A transaction that runs by its group form for a single input, too. */
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
      const [value] = await group.run(tx, [write], () => [])
      return value as Value
    },
  })
}

/** The form of a transaction for several inputs: what came of each as if one had run after the other. */
type GroupForm<Schema, Input, Value> = {
  /** About how many octets it sends to the server; null where it has to run alone. */
  sizeOf(input: Input): number | null
  /** `join` gives what has come meanwhile and is accepted, whose results follow those of `writes`. */
  run(
    tx: Tx<Schema>,
    writes: readonly GroupedInput<Input>[],
    join: JoinGroup<Input>,
  ): Promise<Value[]>
}

export type JoinGroup<Input> = (
  accepts: (input: Input) => boolean,
) => readonly GroupedInput<Input>[]

export type GroupedInput<Input> = { readonly input: Input; readonly traceParent?: string }

export type Db<Schema> = {
  readonly engine: Engine
  /** For the start log: engine, version and place, without credentials. */
  readonly description: string
  readonly read: Kysely<Schema>
  /** The same, for compiled statements. */
  readonly reading: Tx<Schema>
  /**
   * Runs one transaction; resolves after its commit is on disk. Rejects with a `StorageError` when the
   * store cannot take it, and then nothing of it was kept, unless it was lost at its commit.
   * `traceParent` is what its rows say of the trace that they are part of.
   */
  write<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    input: NoInfer<Input>,
    traceParent?: string,
  ): Promise<Value>
  /**
   * Runs one transaction for several inputs by its group form; what came of each, in their order, and of
   * those that joined them. Where one fails for itself all are rolled back and each runs alone. Never
   * rejects. Absent where the engine groups commits by itself.
   */
  writeGroup?<Input, Value>(
    transaction: Transaction<Schema, Input, Value>,
    writes: readonly GroupedInput<NoInfer<Input>>[],
    join?: JoinGroup<NoInfer<Input>>,
  ): Promise<PromiseSettledResult<Value>[]>
  /** Resolves when a read succeeds now; rejects with a `StorageError` otherwise. */
  check(): Promise<void>
  /** Of this process to a server, by what they do: `busy`, `idle`, and who waits for one as `waiting`. */
  connections?(): Readonly<Record<'busy' | 'idle' | 'waiting', number>>
  /** Waits for writes under way, then lets go of everything. Idempotent. */
  close(): Promise<void>
}

/** Of a database only the part that reads. */
export type ReadingDb<Schema> = Pick<Db<Schema>, 'read' | 'reading' | 'close'>

/** What the engines tell about their work, for metrics. */
export type DbObserver = {
  committed(groupSize: number, durationMs: number): void
}

/**
 * Notifications that something may have changed: to listeners in this process at once, and to the processes
 * that share the database. A notification carries nothing and may be lost.
 */
export type Signals = {
  /** Call it after the commit. Never fails. */
  tell(): void
  /** Runs at each signal, of this process or another. */
  listen(run: () => void): void
  close(): Promise<void>
}

/** Of a process that is alone with its database. */
export function openOwnSignals(): Signals {
  const listeners: (() => void)[] = []
  return {
    tell() {
      for (const run of listeners) run()
    },
    listen: (run) => void listeners.push(run),
    close: () => Promise.resolve(),
  }
}
