// Writes of one name in one transaction: all of them, or each alone where one fails for itself.

import type { GroupedInput, GroupedWrites, GroupForm, Tx } from './db.ts'
import { asStorageError } from './storage-error.ts'

export type GroupedWritesOptions<Schema> = {
  forms: Readonly<Record<string, GroupForm<Schema>>>
  /** Runs it as one transaction with its turn; rejects with a `StorageError` where the store is in trouble. */
  inTransaction<Value>(
    work: (tx: Tx<Schema>) => Promise<Value>,
    groupSize: () => number,
  ): Promise<Value>
  /** As if it had not been grouped. */
  alone(name: string, write: GroupedInput<unknown>): Promise<unknown>
}

/** What fails for a `StorageError` fails for all of a group, and is not tried again. */
export function openGroupedWrites<Schema>(options: GroupedWritesOptions<Schema>): GroupedWrites {
  const { forms } = options
  return {
    sizeOf: (name, input) => forms[name]?.sizeOf(input as never) ?? null,
    async write(name, first, join = () => []) {
      const form = forms[name]
      if (form === undefined) return eachAlone(options, name, first)
      // Who has joined stays, also where the transaction is repeated.
      const writes = [...first]
      const joining: typeof join = (accepts) => {
        const more = join(accepts)
        writes.push(...more)
        return more
      }
      try {
        const run = (tx: Tx<Schema>) => form.run(tx, [...writes] as never, joining as never)
        const values = await options.inTransaction(run, () => writes.length)
        return values.map((value) => ({ status: 'fulfilled', value }))
      } catch (error) {
        // What is away or busy is so for each of them. A connection that was lost at the commit leaves
        // open whether it happened, so that nothing may be tried again.
        if (asStorageError(error) === null) return eachAlone(options, name, writes)
        return writes.map(() => ({ status: 'rejected', reason: error }))
      }
    },
  }
}

/** One after the other, for they would wait for each other's rows. */
async function eachAlone<Schema>(
  { alone }: GroupedWritesOptions<Schema>,
  name: string,
  writes: readonly GroupedInput<unknown>[],
): Promise<PromiseSettledResult<unknown>[]> {
  const settled: PromiseSettledResult<unknown>[] = []
  for (const write of writes) settled.push(...(await Promise.allSettled([alone(name, write)])))
  return settled
}
