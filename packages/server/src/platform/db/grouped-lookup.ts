// Lookups by a key that come while others of their kind are under way, asked together when one of those
// ends: a server reads and plans one query for all of them. One that finds none under way goes at once.

import type { Tx } from './db.ts'
import { asStorageError } from './storage-error.ts'

/** Queries of one kind that look up a key each, and keys that one of them asks for. */
const LOOKUPS_UNDER_WAY_MAX = 2
const LOOKED_UP_TOGETHER_MAX = 100

type Asked<Row> = { keys: Map<string, PromiseWithResolvers<Row | null>>; underWay: number }

export type Lookup<Schema, Row> = {
  one(tx: Tx<Schema>, key: string): Promise<Row[]>
  /** Rows of all of the keys, in any order. */
  several(tx: Tx<Schema>, keys: string[]): Promise<Row[]>
  keyOf(row: Row): string | null
}

/** Of each key its row as it is after it was asked for, or null. Rejects as the queries do. */
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
        // A key that the server does not take spoils no other's.
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
    // Asked in the process itself, there is nothing to wait for.
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
