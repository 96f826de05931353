import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import type { NewRow, Tables } from '#store/tables.ts'

export const insertWrittenTo = forEachRow(
  rowInsert<Tables, NewRow<'written_to'>>(
    'written_to',
    ['inbox_id', 'address_key'],
    'on conflict do nothing',
  ),
)
