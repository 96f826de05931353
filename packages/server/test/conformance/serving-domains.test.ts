import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { findServingDomain } from '#domains/store/domains.ts'
import { addAccount, makeId, openDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

onEachEngine('the domain that takes the mail of a name', (engine) => {
  const database = opened(() => openDatabase(engine))
  const owner = prepared(() => addAccount(database.db))

  test('is found with one query, however deep the name is', async () => {
    await holdDomain('wide.example', { takesSubdomains: 1 })
    await holdDomain('own.wide.example', { takesSubdomains: 0 })
    await holdDomain('above.example', { takesSubdomains: 1 })
    await holdDomain('narrow.example', { takesSubdomains: 0 })
    const deps = { inboxDomain: 'mail.above.example' }
    for (const [name, domain] of [
      ['wide.example', 'wide.example'],
      ['a.b.c.wide.example', 'wide.example'],
      ['own.wide.example', 'own.wide.example'],
      ['a.own.wide.example', null],
      ['a.above.example', 'above.example'],
      ['a.mail.above.example', null],
      ['narrow.example', 'narrow.example'],
      ['a.narrow.example', null],
      ['foreign.example', null],
      ['a..wide.example.', null],
    ] as const) {
      const { db, count } = counted()
      const serving = await findServingDomain({ ...deps, db }, name)
      assert.equal(serving?.domain ?? null, domain, name)
      assert.ok(count() <= 1, `${name} took ${count()} queries`)
    }
  })

  function counted() {
    let queries = 0
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        queries += 1
        return result
      },
    }
    const read = database.db.read.withPlugin(plugin)
    const reading = { ...database.db.reading, query: read, runSql: null }
    return { db: { read, reading }, count: () => queries }
  }

  async function holdDomain(domain: string, { takesSubdomains }: { takesSubdomains: 0 | 1 }) {
    const row = {
      id: makeId('dom'),
      account_id: owner.accountId,
      domain,
      takes_subdomains: takesSubdomains,
      status: 'verified',
      is_holder: 1,
      ownership_token: '',
      next_check_at: 0,
      created_at: 0,
    }
    await runSql(
      database,
      `insert into domains (${Object.keys(row).join()})
       values (${Object.values(row)
         .map((value) => `'${value}'`)
         .join()})`,
    )
  }
})
