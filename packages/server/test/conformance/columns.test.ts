import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import * as nouns from '#store/nouns.ts'
import { openDatabase } from '#test/conformance/open-database.ts'

const { ownPolicy, ...others } = nouns
const TABLES = {
  ...others,
  api_keys: nouns.apiKeys,
  dkim_keys: nouns.dkimKeys,
  policy_audit: nouns.auditEntries,
  recipient_rules: nouns.recipientRules,
  sender_rules: nouns.senderRules,
}
const RENAMED = ['apiKeys', 'dkimKeys', 'auditEntries', 'recipientRules', 'senderRules']

test('the columns of nouns are those of the schema', async () => {
  await using database = await openDatabase('sqlite')
  const tables = Object.entries(TABLES).filter(([table]) => !RENAMED.includes(table))
  for (const [table, { given }] of [
    ...tables,
    ['pods', ownPolicy],
    ['inboxes', ownPolicy],
  ] as const) {
    const { rows } = await sql<{ name: string; notnull: number; dflt_value: string | null }>`
      select name, "notnull", dflt_value from pragma_table_info(${table})`.execute(database.db.read)
    for (const { name, traits } of Object.values(given)) {
      const column = rows.find((row) => row.name === name)
      assert.ok(column, `${table}.${name} exists`)
      assert.equal(
        column.notnull === 0,
        traits.includes('nullable'),
        `${table}.${name} is nullable`,
      )
      const isDefaulted = traits.includes('defaulted')
      if (isDefaulted) assert.notEqual(column.dflt_value, null, `${table}.${name} has a default`)
    }
  }
})
