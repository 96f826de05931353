import { transaction } from '#platform/db/db.ts'
import { type ReadDb, readIn, type Tx } from '#store/tables.ts'

/** Returns the existing value, if any. */
export const ensureSecret = transaction({
  name: 'ensureSecret',
  accountOf: () => null,
  async run(tx: Tx, input: { name: string; value: Uint8Array }): Promise<Uint8Array> {
    await tx.query
      .insertInto('service_secrets')
      .values(input)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
    return (await findSecret(readIn(tx), input.name)) ?? input.value
  },
})

/** Does nothing if another process replaced `kept`. Returns the current value, or null for none. */
export const replaceSecret = transaction({
  name: 'replaceSecret',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    input: { name: string; kept: Uint8Array; value: Uint8Array },
  ): Promise<Uint8Array | null> {
    await tx.query
      .updateTable('service_secrets')
      .set({ value: input.value })
      .where('name', '=', input.name)
      .where('value', '=', input.kept)
      .execute()
    return findSecret(readIn(tx), input.name)
  },
})

/** Null before the first start. */
export async function findSecret(db: ReadDb, name: string): Promise<Uint8Array | null> {
  const row = await db.read
    .selectFrom('service_secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value ?? null
}
