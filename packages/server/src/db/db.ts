// The database port: reads are queries on read-only connections, writes are named transactions.
// Two engines speak it, and nothing above this floor may ask which one it has, except `dialect.ts`.

import type { Kysely } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

/** What a named transaction works with. All it does commits or fails together. */
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
 * Named transactions: functions of `tx` and plain data, without I/O, clock or randomness of their
 * own. Input and result must survive a structured clone, for the embedded engine runs them in
 * another thread.
 */
export type TransactionTable<Schema> = Record<
  string,
  (tx: Tx<Schema>, input: never) => Promise<unknown>
>

/** The form of a named transaction for several inputs: what came of each as if one had run after the other. */
export type GroupForm<Schema> = {
  /** About how many octets it sends to the server; null where it has to run alone. */
  sizeOf(input: never): number | null
  /** `join` gives what has come meanwhile and is accepted, whose results follow those of `writes`. */
  run(
    tx: Tx<Schema>,
    writes: readonly GroupedInput<never>[],
    join: JoinGroup<GroupedInput<never>>,
  ): Promise<unknown[]>
}

export type JoinGroup<Write> = (accepts: (input: never) => boolean) => readonly Write[]

export type GroupedInput<Input> = { readonly input: Input; readonly traceParent?: string }

/** Writes of one name that share a transaction, where the engine does not group commits by itself. */
export type GroupedWrites = {
  /** See `GroupForm`; null also where the transaction has no such form. */
  sizeOf(name: string, input: unknown): number | null
  /**
   * What came of each, in their order, and of those that joined them. Where one fails for itself all are
   * rolled back and each runs alone. Never rejects.
   */
  write(
    name: string,
    writes: readonly GroupedInput<unknown>[],
    join?: JoinGroup<GroupedInput<unknown>>,
  ): Promise<PromiseSettledResult<unknown>[]>
}

export type Db<Schema, Table extends TransactionTable<Schema>> = {
  readonly engine: Engine
  /** For the start log: engine, version and place, without credentials. */
  readonly description: string
  readonly read: Kysely<Schema>
  /** The same, for compiled statements. */
  readonly reading: Tx<Schema>
  /**
   * Runs one named transaction; resolves after its commit is on disk. Rejects with a `StorageError`
   * when the store cannot take it, and then nothing of it was kept, unless it was lost at its commit.
   * `traceParent` is what its rows say of the trace that they are part of.
   */
  write<Name extends keyof Table & string>(
    name: Name,
    input: Parameters<Table[Name]>[1],
    traceParent?: string,
  ): Promise<Awaited<ReturnType<Table[Name]>>>
  /** Absent where the engine groups commits by itself. */
  readonly grouped?: GroupedWrites
  /** Resolves when a read succeeds now; rejects with a `StorageError` otherwise. */
  check(): Promise<void>
  /** Of this process to a server, by what they do: `busy`, `idle`, and who waits for one as `waiting`. */
  connections?(): Readonly<Record<'busy' | 'idle' | 'waiting', number>>
  /** Waits for writes under way, then lets go of everything. Idempotent. */
  close(): Promise<void>
}

/** Of a database only the part that reads. */
export type ReadingDb<Schema> = Pick<
  Db<Schema, TransactionTable<Schema>>,
  'read' | 'reading' | 'close'
>

/** What the engines tell about their work, for metrics. */
export type DbObserver = {
  committed(groupSize: number, durationMs: number): void
}
