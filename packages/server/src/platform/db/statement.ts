// Queries of the hot path, compiled to SQL once. Building a Kysely query costs more than SQLite needs to run
// it. Statements for several rows and lookups by key are combined, so that PostgreSQL runs few.

import { createHash } from 'node:crypto'
import {
  type AliasedRawBuilder,
  type Compilable,
  type CompiledQuery,
  type Kysely,
  type OperationNodeSource,
  type RawBuilder,
  sql,
  type UpdateResult,
} from 'kysely'
import { systemClock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Engine, RunSql, Tx } from './db.ts'
import { asStorageError } from './storage-error.ts'

type Parameters = Record<string, unknown>

class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function placeholder<Value>(name: string): RawBuilder<Value> {
  return sql.val(new Placeholder(name)) as RawBuilder<unknown> as RawBuilder<Value>
}

/** The values for a compiled query, in the order of its parameters. */
function valuesFor({ parameters }: CompiledQuery, input: Parameters): unknown[] {
  return parameters.map((value) => (value instanceof Placeholder ? input[value.name] : value))
}

/** Stands for a value of the input. */
type Place<Input> = <Name extends keyof Input & string>(name: Name) => RawBuilder<Input[Name]>

/**
 * A statement that is compiled at its first use, once for each engine. `build` must return the same query
 * every time, with `place('name')` for a value of the input. PostgreSQL prepares plain inserts, and what is `isPrepared`:
 * for lookups by a key, which have one good plan whatever is looked up.
 */
export function statement<Schema, Input extends Parameters, Row>(
  build: (query: Kysely<Schema>, place: Place<Input>, engine: Engine) => Compilable<Row>,
  { isPrepared = false }: { isPrepared?: boolean } = {},
): (tx: Tx<Schema>, input: Input) => Promise<Row[]> {
  const compiled = new Map<Engine, CompiledQuery<Row>>()
  return async (tx, input) => {
    let query = compiled.get(tx.engine)
    if (query === undefined) {
      query = build(tx.query, placeholder, tx.engine).compile() as CompiledQuery<Row>
      compiled.set(tx.engine, query)
      if (tx.engine === 'postgres' && (isPrepared || isPlainInsert(query))) prepare(query.sql)
    }
    const parameters = valuesFor(query, input)
    // Running through Kysely costs three times what SQLite needs for the statement.
    if (tx.runSql !== null) return tx.runSql(query.sql, parameters) as Row[]
    const result = await tx.query.executeQuery<Row>({ ...query, parameters })
    return result.rows
  }
}

function isPlainInsert({ query }: CompiledQuery): boolean {
  return query.kind === 'InsertQueryNode' && query.values?.kind === 'ValuesNode'
}

const names = new Map<string, string>()
const NAME_LENGTH = 24

/** Prepares the text under a name wherever it runs from now on. Idempotent. */
function prepare(text: string): void {
  if (names.has(text)) return
  names.set(text, createHash('sha256').update(text).digest('hex').slice(0, NAME_LENGTH))
}

type Query = (text: unknown, values?: unknown, ...rest: unknown[]) => unknown

/** How long a connection keeps plans. One that searches was made for tables as large as they were then. */
const PLANS_MS_MAX = SECOND_MS

/**
 * Makes the connection run texts passed to `prepare` as prepared statements, which the server parses once and
 * plans once in PLANS_MS_MAX: parsing and planning took 38 % of the time of a receipt's statements. Only constant
 * texts are prepared, so a connection keeps few.
 */
export function preparing(client: { query: unknown }): void {
  const kind = Object.getPrototypeOf(client) as { query: Query }
  let plannedMs = systemClock.monotonic()
  const named: Query = (text, ...rest) => {
    const name = typeof text === 'string' ? names.get(text) : undefined
    if (name === undefined) return kind.query.call(client, text, ...rest)
    const [values, ...others] = rest
    const run = () => kind.query.call(client, { name, text, values }, ...others)
    const nowMs = systemClock.monotonic()
    if (nowMs - plannedMs < PLANS_MS_MAX) return run()
    plannedMs = nowMs
    const discarding = kind.query.call(client, 'discard plans') as Promise<unknown>
    // It fails where the transaction or the connection has failed, and then the statement would too.
    return discarding.then(run)
  }
  client.query = named
}

/**
 * A statement that runs for each of several rows. SQLite runs it row by row. PostgreSQL runs it once for all
 * rows, passed as JSON that it converts by the types of the table's columns: one text serves any number of
 * rows and parses faster than many parameters. The values of a row are named like columns of the table.
 */
type RowStatement<Schema, Row extends Parameters, Found> = {
  forOne(query: Kysely<Schema>, engine: Engine): CompiledQuery
  /** `rows` is the rows as a table with the columns of the named table. */
  forAll(
    query: Kysely<Schema>,
    rows: (table: string) => RawBuilder<object>,
    engine: Engine,
  ): OperationNodeSource
  /** Used by the compiler only. */
  readonly of?: { row: Row; found: Found }
}

/** `onConflict` is SQL for both engines. */
export function rowInsert<Schema, Row extends Parameters>(
  table: string,
  columns: readonly (keyof Row & string)[],
  onConflict = '',
): RowStatement<Schema, Row, never> {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const into = sql`insert into ${sql.table(table)} (${names})`
  const end = sql.raw(onConflict)
  return {
    forOne: (query) =>
      sql`${into} values (${sql.join(columns.map(placeholder))}) ${end}`.compile(query),
    forAll: (_, rows) => sql`${into} select ${names} from ${rows(table)} ${end}`,
  }
}

/** Columns that are also in the rows must be qualified with their table. */
export function rowUpdate<Schema, Row extends Parameters, Found = UpdateResult>(
  table: string,
  build: (
    query: Kysely<Schema>,
    given: Place<Row>,
  ) => Compilable<Found> & {
    from(rows: AliasedRawBuilder<object, 'given'>): OperationNodeSource
  },
): RowStatement<Schema, Row, Found> {
  return {
    forOne: (query) => build(query, placeholder).compile(),
    forAll: (query, rows) => build(query, given).from(rows(table).as('given')),
  }
}

/** `build` returns the query for one row. */
export function rowSelect<Schema, Row extends Parameters, Found>(
  table: string,
  build: (
    query: Kysely<Schema>,
    given: Place<Row>,
    engine: Engine,
  ) => Compilable<Found> & OperationNodeSource,
): RowStatement<Schema, Row, Found> {
  return {
    forOne: (query, engine) => build(query, placeholder, engine).compile(),
    forAll: (query, rows, engine) => sql`
      select found.* from ${rows(table)} as given
      cross join lateral ${build(query, given, engine)} as found`,
  }
}

const given = <Value>(column: string) => sql.ref<Value>(`given.${column}`)

/** Runs the statement for the rows, in order; returns all results. */
export function forEachRow<Schema, Row extends Parameters, Found>(
  statement: RowStatement<Schema, Row, Found>,
): (tx: Tx<Schema>, rows: readonly Row[]) => Promise<Found[]> {
  const runEach = eachOf(statement)
  let all: CompiledQuery | undefined
  return async (tx, rows) => {
    if (rows.length === 0) return []
    if (tx.runSql !== null) return runEach(tx, tx.runSql, rows) as Found[]
    if (all === undefined) {
      all = sql`${statement.forAll(tx.query, rowsIn('rows'), tx.engine)}`.compile(tx.query)
      prepare(all.sql)
    }
    return (await runAll(tx, all, { rows })) as Found[]
  }
}

/**
 * Runs inserts and updates, each for its rows. PostgreSQL runs them as one statement, so none sees what
 * another has written.
 */
export function together<Schema, Rows extends Readonly<Record<string, Parameters>>>(
  statements: {
    readonly [Kind in keyof Rows]: RowStatement<Schema, Rows[Kind], unknown>
  },
): (
  tx: Tx<Schema>,
  rows: { readonly [Kind in keyof Rows]?: readonly Rows[Kind][] },
) => Promise<void> {
  const kinds: [string, RowStatement<Schema, never, unknown>][] = Object.entries(statements)
  const each = kinds.map(([kind, statement]) => [kind, eachOf(statement)] as const)
  let all: CompiledQuery | undefined
  return async (tx, rows) => {
    if (tx.runSql !== null) {
      for (const [kind, runEach] of each) runEach(tx, tx.runSql, rows[kind] ?? [])
      return
    }
    if (kinds.every(([kind]) => (rows[kind] ?? []).length === 0)) return
    if (all === undefined) {
      const parts = kinds.map(([kind, { forAll }]) => {
        return sql`${sql.ref(kind)} as (${forAll(tx.query, rowsIn(kind), tx.engine)})`
      })
      all = sql`with ${sql.join(parts)} select 1`.compile(tx.query)
      prepare(all.sql)
    }
    await runAll(tx, all, Object.fromEntries(kinds.map(([kind]) => [kind, rows[kind] ?? []])))
  }
}

function eachOf<Schema>(statement: Pick<RowStatement<Schema, never, unknown>, 'forOne'>) {
  let one: CompiledQuery | undefined
  return (tx: Tx<Schema>, runSql: RunSql, rows: readonly Parameters[]): unknown[] => {
    let found: unknown[] = []
    for (const row of rows) {
      one ??= statement.forOne(tx.query, tx.engine)
      const some = runSql(one.sql, valuesFor(one, row))
      found = found.length === 0 ? some : [...found, ...some]
    }
    return found
  }
}

const rowsIn = (kind: string) => (table: string) =>
  sql<object>`json_populate_recordset(null::${sql.table(table)}, ${placeholder(kind)}::json)`

async function runAll<Schema>(
  tx: Tx<Schema>,
  query: CompiledQuery,
  rows: Readonly<Record<string, readonly Parameters[]>>,
): Promise<unknown[]> {
  const texts = Object.entries(rows).map(([kind, some]) => [kind, toJson(some)])
  const parameters = valuesFor(query, Object.fromEntries(texts))
  return (await tx.query.executeQuery({ ...query, parameters })).rows
}

/** JSON can escape half of a surrogate pair, which PostgreSQL refuses. */
const HALF_PAIR = /\\ud[89a-f]/

function toJson(rows: readonly Parameters[]): string {
  const plain = rows.map(withoutBytes)
  const text = JSON.stringify(plain)
  if (!HALF_PAIR.test(text)) return text
  return JSON.stringify(plain, (_, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  )
}

function withoutBytes(row: Parameters): Parameters {
  const plain: Parameters = {}
  for (const [name, value] of Object.entries(row)) {
    plain[name] = value instanceof Uint8Array ? `\\x${hexOf(value)}` : value
  }
  return plain
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** Concurrent queries of one lookup, and keys in one query. */
const LOOKUPS_UNDER_WAY_MAX = 2
const LOOKED_UP_TOGETHER_MAX = 100

type Asked<Row> = { keys: Map<string, PromiseWithResolvers<Row | null>>; underWay: number }

type Lookup<Schema, Row> = {
  one(tx: Tx<Schema>, key: string): Promise<Row[]>
  /** The rows of all keys, in any order. */
  several(tx: Tx<Schema>, keys: string[]): Promise<Row[]>
  keyOf(row: Row): string | null
}

/**
 * Looks up keys that come while other lookups are under way together, in one query. Resolves with the row of
 * the key, or null; rejects as the queries do.
 */
export function groupedLookup<Schema, Row>({
  one,
  several,
  keyOf,
}: Lookup<Schema, Row>): (tx: Tx<Schema>, key: string) => Promise<Row | null> {
  const places = new WeakMap<Tx<Schema>['query'], Asked<Row>>()

  const ask = async (tx: Tx<Schema>, keys: string[]): Promise<Map<string | null, Row>> => {
    const [first] = keys
    if (first === undefined) return new Map()
    const rows = keys.length === 1 ? await one(tx, first) : await several(tx, keys)
    return new Map(rows.map((row) => [keyOf(row), row]))
  }
  const askAll = async (tx: Tx<Schema>, group: Asked<Row>['keys']): Promise<void> => {
    try {
      const found = await ask(tx, [...group.keys()])
      for (const [key, { resolve }] of group) resolve(found.get(key) ?? null)
    } catch (error) {
      const isOfAll = group.size === 1 || asStorageError(error) !== null
      for (const [key, { resolve, reject }] of group) {
        // One invalid key must not fail the others.
        if (isOfAll) reject(error)
        else ask(tx, [key]).then((found) => resolve(found.get(key) ?? null), reject)
      }
    }
  }
  const work = async (tx: Tx<Schema>, place: Asked<Row>): Promise<void> => {
    place.underWay += 1
    while (place.keys.size > 0) {
      const group = new Map([...place.keys].slice(0, LOOKED_UP_TOGETHER_MAX))
      for (const key of group.keys()) place.keys.delete(key)
      await askAll(tx, group)
    }
    place.underWay -= 1
  }
  return async (tx, key) => {
    // On SQLite there is no round trip to save.
    if (tx.runSql !== null) return (await one(tx, key))[0] ?? null
    const place = places.get(tx.query) ?? { keys: new Map(), underWay: 0 }
    places.set(tx.query, place)
    const waiting = place.keys.get(key)
    if (waiting !== undefined) return waiting.promise
    const asked = Promise.withResolvers<Row | null>()
    place.keys.set(key, asked)
    if (place.underWay < LOOKUPS_UNDER_WAY_MAX) void work(tx, place)
    return asked.promise
  }
}
