import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { changeAccount, listAccounts } from '#accounts/account-rows.ts'
import { clientOf, emptyPlace, type Place } from '#test/scenarios/service-process.ts'
import { onEachEngine } from '#test/world.ts'
import { openStore, silentObserver } from '#wiring/store.ts'

const KEY = 'the-key-of-this-test-0123456789'

onEachEngine('the command line', (engine) => {
  let place: Place
  let http: string
  before(async () => {
    place = await emptyPlace(engine)
    http = (await place.start({ MAILROOM_BOOTSTRAP_API_KEY: KEY }).ready).http
  })
  after(() => place.remove())

  test('an account made by a command has a key that the running service takes at once', async () => {
    const made = await place.command(
      'account',
      'create',
      '--name',
      'By hand',
      '--plan',
      'developer',
    )
    assert.equal(made.code, 0, made.output)
    const key = /^key\s+(mr_[0-9A-Za-z]{40})$/m.exec(made.output)?.[1] ?? ''
    const id = /^account\s+(acc_[0-9a-z]{26})$/m.exec(made.output)?.[1] ?? ''
    assert.equal((await clientOf(http, key).pods.list().page()).total, 1)
    const listed = await place.command('account', 'list')
    assert.match(listed.output, new RegExp(`^${id} +developer +\\S+ +By hand$`, 'm'))
    assert.ok(!listed.output.includes(key))
  })

  test('a name is listed without what could steer a terminal', async () => {
    const store = await openStore({
      settings: {
        dataDir: place.dataDir,
        databaseUrl: place.databaseUrl,
        blobStore: 'disk',
      },
      as: 'command',
      observer: silentObserver,
      onError: () => {},
    })
    const { accounts } = await listAccounts(store.db, { limit: 1, offset: 0 })
    const name = 'A\u001b[31m\u009b2J\u202e\u2066\rname'
    await store.db.write(changeAccount, { id: accounts[0]?.id ?? '', name })
    await store.close()
    const { output } = await place.command('account', 'list')
    assert.match(output, / {2}A\?\[31m\?2J\?\?\?name$/m)
  })

  test('a key made by a command works, and is refused as soon as a command revokes it', async () => {
    const account = /acc_[0-9a-z]{26}/.exec((await place.command('account', 'list')).output)?.[0]
    const made = await place.command('key', 'create', '--account', account ?? '', '--name', 'new')
    const token = /mr_[0-9A-Za-z]{40}/.exec(made.output)?.[0] ?? ''
    const id = /key_[0-9a-z]{26}/.exec(made.output)?.[0] ?? ''
    await clientOf(http, token).pods.list().page()
    assert.equal((await place.command('key', 'revoke', id)).code, 0)
    await assert.rejects(clientOf(http, token).pods.list().page(), { status: 401 })
    const again = await place.command('key', 'revoke', id)
    assert.equal(again.code, 1)
    assert.match(again.output, /no active key/)
  })

  test('a reserved name is handed out by the operator alone', async () => {
    const client = clientOf(http, KEY)
    const asked = client.inboxes.create({ mailboxName: 'admin' })
    await assert.rejects(asked, { status: 409, code: 'address_taken' })
    const account = (await client.account.get()).id
    const made = await place.command(
      'account',
      'create-inbox',
      '--account',
      account,
      '--name',
      'admin',
    )
    assert.equal(made.code, 0, made.output)
    const id = /^inbox\s+(inb_[0-9a-z]{26})$/m.exec(made.output)?.[1] ?? ''
    const inbox = await client.inboxes.get(id)
    assert.match(inbox.address, /^admin@/)
    assert.ok(made.output.includes(inbox.address))
    const again = await place.command(
      'account',
      'create-inbox',
      '--account',
      account,
      '--name',
      'admin',
    )
    assert.deepEqual([again.code, again.output.includes('in use')], [1, true])
    const odd = await place.command('account', 'create-inbox', '--account', account, '--name', 'A')
    assert.equal(odd.code, 1)
  })

  test('what does not exist or cannot be is told in a line, without a stack', async () => {
    const wrong: [string[], number][] = [
      [['key', 'create', '--account', 'acc_unknown'], 1],
      [['key', 'revoke', 'key_unknown'], 1],
      [['account', 'create', '--name', 'x', '--plan', 'gold'], 2],
      [['account', 'create'], 2],
      [['no-such-command'], 2],
    ]
    for (const [args, code] of wrong) {
      const told = await place.command(...args)
      assert.equal(told.code, code, `${args.join(' ')}: ${told.output}`)
      assert.doesNotMatch(told.output, /^ {4}at /m)
    }
  })
})
