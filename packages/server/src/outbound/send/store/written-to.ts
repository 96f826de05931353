import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import type { NewRow, Tables, Tx } from '#store/tables.ts'

/** Records that the inbox has written to the recipients. */
export async function noteWrittenTo(
  tx: Tx,
  { inboxId: inbox_id, recipientKeys }: { inboxId: string; recipientKeys: readonly string[] },
): Promise<void> {
  await insertRows(
    tx,
    recipientKeys.map((address_key) => ({ inbox_id, address_key })),
  )
}

const insertRows = forEachRow(
  rowInsert<Tables, NewRow<'written_to'>>(
    'written_to',
    ['inbox_id', 'address_key'],
    'on conflict do nothing',
  ),
)
