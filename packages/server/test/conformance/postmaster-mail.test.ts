import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import { authenticateArriving } from '#inbound/receive/receive-mail.ts'
import {
  addPostmasterMessage,
  listPostmasterMessages,
} from '#inbound/receive/store/postmaster-messages.ts'
import type { ReachedInbox } from '#inboxes/model.ts'
import { openSqliteConnection, queriesOn } from '#platform/db/sqlite-connection.ts'
import type { Tables, Tx } from '#store/tables.ts'
import { makeId, openDatabase, type TestDatabase } from '#test/conformance/open-database.ts'
import { onEachEngine } from '#test/world.ts'

onEachEngine('rows of mail to the postmaster', (engine) => {
  test('a message that exists is not added again, and one without a key always is', async () => {
    await using database = await openDatabase(engine)
    await writing(database, async (tx) => {
      const add = (key: Uint8Array | null) => addPostmasterMessage(tx, message(makeId('raw'), key))
      assert.equal(await add(Buffer.from('one')), true)
      assert.equal(await add(Buffer.from('one')), false)
      assert.equal(await add(Buffer.from('two')), true)
      assert.equal(await add(null), true)
      assert.equal(await add(null), true)
    })
    const { messages } = await listPostmasterMessages(database.db, { limit: 10, before: null })
    assert.equal(messages.length, 4)
  })
})

function message(rawId: string, receiptKey: Uint8Array | null) {
  return {
    raw_id: rawId,
    receipt_key: receiptKey,
    recipient: 'postmaster@mailroom.localhost',
    from_addr: 'ann@sender.example',
    subject: 'Help',
    created_at: 1,
  }
}

/** The arguments of the named transactions. */
async function writing({ db, place }: TestDatabase, run: (tx: Tx) => Promise<void>): Promise<void> {
  if (db.engine === 'postgres') {
    await db.read.transaction().execute((query) => run({ engine: 'postgres', query, runSql: null }))
    return
  }
  const connection = openSqliteConnection({ path: place, mode: 'write' })
  try {
    await run({ engine: 'sqlite', ...queriesOn<Tables>(connection) })
  } finally {
    connection.close()
  }
}

const REFUSED: Authentication = {
  spf: { result: 'fail', domain: 'bank.example' },
  dkim: [],
  dmarc: { result: 'fail', policy: 'reject', domain: 'bank.example' },
  arc: { result: 'none' },
  verifiedFrom: false,
}

test('an inbox named postmaster gets mail that the policy of From rejected for others', async () => {
  const raw = Buffer.from('From: a@bank.example\r\n\r\nHi')
  const authenticator = { authenticate: async () => REFUSED, close: async () => {} }
  const refusalFor = async (...addresses: string[]) => {
    const { refusal } = await authenticateArriving(
      { authenticator, rejectDmarcFailures: true },
      {
        raw,
        reversePath: '',
        recipients: addresses.map((address) => ({
          kind: 'inbox',
          through: null,
          address,
          inbox: { address } as ReachedInbox,
        })),
        origin: 'smtp',
        clientAddress: '192.0.2.1',
        helo: 'x.example',
      },
      Promise.resolve(readHeaders(readHeaderSection(raw).fields)),
    )
    return refusal
  }
  assert.equal(await refusalFor('postmaster@own.example'), null)
  assert.notEqual(await refusalFor('ann@own.example'), null)
  assert.notEqual(await refusalFor('postmaster@own.example', 'ann@own.example'), null)
})
