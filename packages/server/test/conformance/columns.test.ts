import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import * as nouns from '#store/nouns.ts'
import { openDatabase } from '#test/conformance/open-database.ts'

const { ownPolicy, ...others } = nouns
/** Tables whose name is not that of the noun. */
const TABLES: Partial<Record<keyof typeof others, string>> = {
  apiKeys: 'api_keys',
  auditEntries: 'policy_audit',
  connectionSteps: 'connection_steps',
  oauthClients: 'oauth_clients',
  dkimKeys: 'dkim_keys',
  quarantinedMessages: 'quarantined_messages',
  recipientRules: 'recipient_rules',
  senderRules: 'sender_rules',
}

test('the columns of nouns are those of the schema', async () => {
  await using database = await openDatabase('sqlite')
  const tables = Object.entries(others).map(
    ([noun, columns]) => [TABLES[noun as keyof typeof others] ?? noun, columns] as const,
  )
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
      if (isDefaulted && column.notnull === 1)
        assert.notEqual(column.dflt_value, null, `${table}.${name} has a default`)
    }
  }
})
