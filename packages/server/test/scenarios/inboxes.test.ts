import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countOutcomes, refusal, refusalOf, repeat } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const UNKNOWN_POD = 'pod_01h455vb4pex5vsknk084sn02q'

onEachEngine('inboxes', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)

  test('an inbox has an address on the service’s domain and is in the default pod', async () => {
    const inbox = await client.inboxes.create({ mailboxName: 'first', displayName: 'First Agent' })
    assert.match(inbox.id, /^inb_[0-9a-z]{26}$/)
    assert.equal(inbox.address, 'first@mailroom.localhost')
    assert.equal(inbox.displayName, 'First Agent')
    assert.equal((await client.pods.get(inbox.podId)).isDefault, true)
    assert.match(inbox.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual(await client.inboxes.get(inbox.id), inbox)
  })

  test('a clientId is unique in the account, and a create that repeats it gets the inbox it names', async () => {
    const body = { mailboxName: 'named', clientId: 'agent 7', metadata: { team: 'billing' } }
    const headers = { 'content-type': 'application/json' }
    const create = () =>
      world.fetch('/v1/inboxes', { method: 'POST', headers, body: JSON.stringify(body) })
    const answers = await Promise.all([create(), create(), create()])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201])
    const first = await client.inboxes.getByAddress('named@mailroom.localhost')
    for (const answer of answers) assert.deepEqual(await answer.json(), first)
    assert.equal(first.clientId, 'agent 7')
    const elsewhere = await client.inboxes.create({ clientId: 'agent 7', domain: 'no.example' })
    assert.equal(elsewhere.id, first.id)
    const other = await client.inboxes.create({ clientId: 'agent 8' })
    assert.notEqual(other.id, first.id)
    const change = (clientId: string | null) => client.inboxes.update(other.id, { clientId })
    assert.equal(await refusal(change('agent 7')), '409 client_id_taken')
    assert.equal((await change(null)).clientId, null)
    await client.inboxes.delete(first.id)
    assert.equal((await change('agent 7')).id, other.id)
    assert.equal(await refusal(client.inboxes.create({ clientId: '' })), '400 bad_request')
  })

  test('an inbox is found by its address, whatever its case and tag', async () => {
    const inbox = await client.inboxes.create({ mailboxName: 'found' })
    for (const address of ['found@mailroom.localhost', 'Found+tag@MAILROOM.localhost']) {
      assert.deepEqual(await client.inboxes.getByAddress(address), inbox)
    }
    for (const address of ['nobody@mailroom.localhost', 'found', '@', inbox.id]) {
      assert.equal(await refusal(client.inboxes.getByAddress(address)), '404 not_found')
    }
  })

  test('an inbox without a requested name gets eight random letters and digits', async () => {
    const made = await repeat(10, () => client.inboxes.create())
    for (const { address } of made) assert.match(address, /^[a-z0-9]{8}@mailroom\.localhost$/)
    assert.equal(new Set(made.map(({ address }) => address)).size, 10)
  })

  test('a mailbox name is 3 to 30 letters, digits, dots and hyphens between letters or digits', async () => {
    const good = ['a-b', '0.0', 'x'.repeat(30), 'a--b', 'a.-.b', '123', `a${'.-'.repeat(14)}b`]
    for (const mailboxName of good) {
      const { address } = await client.inboxes.create({ mailboxName })
      assert.equal(address, `${mailboxName}@mailroom.localhost`)
    }
    const bad = [
      '',
      'ab',
      'x'.repeat(31),
      'Abc',
      'abC',
      '.ab',
      'ab.',
      '-ab',
      'ab-',
      'a..b',
      'a b',
      'a_b',
      'a+b',
    ]
    for (const mailboxName of [
      ...bad,
      'a@b',
      'äbc',
      'abc\n',
      '١٢٣',
      'a\u0000c',
      'ab/c',
      'ſab',
      'a%c',
    ]) {
      const error = await refusalOf(client.inboxes.create({ mailboxName }))
      assert.equal(error.status, 400, mailboxName)
      assert.equal(error.code, 'invalid_mailbox_name', mailboxName)
    }
  })

  test('reserved names are refused as taken', async () => {
    const names = [
      'postmaster',
      'abuse',
      'mailer-daemon',
      'hostmaster',
      'webmaster',
      'admin',
      'administrator',
      'root',
      'security',
      'noc',
      'sysadmin',
      'ssladmin',
      'dmarc-reports',
      'tls-reports',
      'noreply',
      'no-reply',
      'bounce',
      'bounces',
      'mailroom',
      'held-mail',
      'reviews',
      'approvals',
      // Signs within a name make no difference.
      'held.mail',
      'heldmail',
      'h-e.l-d-mail',
      'no.reply',
      'post.master',
      'mail.room',
      'mai1-r00m',
    ]
    for (const mailboxName of names) {
      assert.equal(await refusal(client.inboxes.create({ mailboxName })), '409 address_taken')
    }
    for (const mailboxName of ['support', 'sales', 'info', 'billing', 'help', 'mail', 'review']) {
      assert.match((await client.inboxes.create({ mailboxName })).address, /^[a-z]+@/)
    }
  })

  test('a display name that people could take for that of the service is refused', async () => {
    const { client: owner } = await world.newAccount()
    const inbox = await owner.inboxes.create({ displayName: 'Ann of Acme Mailroom' })
    const names = [
      'Mailroom',
      'MAILROOM',
      'Mail Room',
      ' m a i l-r.o_o m ',
      'Ｍａｉｌｒｏｏｍ',
      'Маilгооm',
      'Mailro\u{1d428}m',
      'Ma\u0131lroom',
      'MAlLR00M',
      'Mailr\u00f6\u0301om',
      'Mai\u200dlroom',
      'Mailroorn',
      'Mailroom Reviews',
      'Mailroom: held mail',
      'Held_Mail',
      'The Mailroom team',
    ]
    for (const displayName of names) {
      const created = await refusalOf(owner.inboxes.create({ displayName }))
      assert.deepEqual([created.status, created.code], [400, 'bad_request'], displayName)
      assert.match(created.message, /displayName/)
      assert.equal(
        await refusal(owner.inboxes.update(inbox.id, { displayName })),
        '400 bad_request',
      )
    }
    for (const displayName of ['Mailroom of Acme', 'Roommail', 'Moira Milo', 'Shield Mail', 'Ö']) {
      assert.equal((await owner.inboxes.update(inbox.id, { displayName })).displayName, displayName)
    }
  })

  test('null in the creation of an inbox, a pod, a webhook, a key or a rule means the same as leaving the field out', async () => {
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' }
    const bodies: [string, object][] = [
      [
        'inboxes',
        { mailboxName: null, displayName: null, podId: null, domain: null, webhookUrl: null },
      ],
      ['pods', { clientId: null, name: null }],
      ['domains', { domain: 'null.example', podId: null }],
      [
        'webhooks',
        {
          url: 'https://x.example/',
          eventTypes: null,
          podIds: null,
          inboxIds: null,
          enabled: null,
        },
      ],
      ['api-keys', { name: null }],
      [
        'sender-rules',
        { type: 'block', value: 'x.example', podId: null, inboxId: null, requireVerified: null },
      ],
    ]
    for (const [path, body] of bodies) {
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(`${world.baseUrl}/v1/${path}`, init)
      assert.equal(response.status, 201, `${path} ${await response.text()}`)
    }
    const init = { method: 'POST', headers, body: '{"domain":null}' }
    assert.equal((await fetch(`${world.baseUrl}/v1/domains`, init)).status, 400)
  })

  test('a display name is one line of at most 200 code points', async () => {
    for (const displayName of ['x'.repeat(200), '🙂'.repeat(200), '', '"quoted" <ann@x>']) {
      assert.equal((await client.inboxes.create({ displayName })).displayName, displayName)
    }
    const inbox = await client.inboxes.create({ displayName: 'kept' })
    const bad = [
      'x'.repeat(201),
      '🙂'.repeat(201),
      'a\r\nX-Evil: 1',
      'a\u0085b',
      'a\u2028b',
      'a\u007f',
      7,
    ]
    for (const displayName of bad) {
      const creation = await refusalOf(client.inboxes.create({ displayName } as never))
      const change = await refusalOf(client.inboxes.update(inbox.id, { displayName } as never))
      assert.equal(creation.details[0]?.path, 'displayName')
      assert.equal(change.details[0]?.path, 'displayName')
    }
    const nul = client.inboxes.update(inbox.id, { displayName: 'a\u0000' })
    assert.equal(await refusal(nul), '400 bad_request')
    assert.deepEqual(await client.inboxes.get(inbox.id), inbox)
  })

  test('a display name is changed, kept when left out, and cleared by null', async () => {
    const inbox = await client.inboxes.create({ displayName: 'Old' })
    assert.deepEqual(await client.inboxes.update(inbox.id, {}), inbox)
    const changed = await client.inboxes.update(inbox.id, { displayName: 'New' })
    assert.deepEqual(changed, { ...inbox, displayName: 'New' })
    const cleared = await client.inboxes.update(inbox.id, { displayName: null })
    assert.deepEqual(await client.inboxes.get(inbox.id), { ...inbox, displayName: null })
    assert.equal(cleared.displayName, null)
  })

  test('pod and address of an inbox never change', async () => {
    const inbox = await client.inboxes.create()
    const pod = await client.pods.create()
    for (const body of [{ podId: pod.id }, { mailboxName: 'other' }, { address: 'x@y.example' }]) {
      assert.equal(await refusal(client.inboxes.update(inbox.id, body as never)), '400 bad_request')
    }
    assert.deepEqual(await client.inboxes.get(inbox.id), inbox)
  })

  test('the service’s own domain is accepted in any case, and no other domain', async () => {
    for (const domain of ['mailroom.localhost', 'MailRoom.LOCALHOST', 'MailRoom.localhost.']) {
      const { address } = await client.inboxes.create({ domain })
      assert.match(address, /@mailroom\.localhost$/)
    }
    for (const domain of [
      'other.example',
      'sub.mailroom.localhost',
      '',
      'mailroom.localhost..',
      '.mailroom.localhost',
      'x@y',
    ]) {
      assert.equal(await refusal(client.inboxes.create({ domain })), '400 invalid_domain')
    }
  })

  test('an unknown pod is 400 invalid_pod when an inbox is created in it', async () => {
    for (const podId of [UNKNOWN_POD, 'no such pod', '', 'inb_01h455vb4pex5vsknk084sn02q']) {
      assert.equal(await refusal(client.inboxes.create({ podId })), '400 invalid_pod')
    }
  })

  test('an address is unique over all accounts and pods', async () => {
    await client.inboxes.create({ mailboxName: 'taken' })
    const pod = await client.pods.create()
    const again = client.inboxes.create({ mailboxName: 'taken', podId: pod.id })
    assert.equal(await refusal(again), '409 address_taken')
    const other = (await world.newAccount()).client.inboxes.create({ mailboxName: 'taken' })
    assert.equal(await refusal(other), '409 address_taken')
  })

  test('one of twenty concurrent requests for a name gets it', async () => {
    const accounts = [client, (await world.newAccount()).client, (await world.newAccount()).client]
    const requests = Array.from({ length: 21 }, (_, index) =>
      accounts[index % 3]?.inboxes.create({ mailboxName: 'wanted' }),
    )
    const outcomes = await countOutcomes(requests.map((request) => Promise.resolve(request)))
    assert.deepEqual(outcomes, { done: 1, '409 address_taken': 20 })
  })

  test('inboxes are listed newest first, for one pod or all', async () => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create({ clientId: 'listed' })
    const made = []
    for (const podId of [pod.id, undefined, 'listed', undefined]) {
      made.unshift(await client.inboxes.create(podId === undefined ? {} : { podId }))
    }
    assert.deepEqual(await client.inboxes.list().page(), { data: made, total: 4 })
    const inPod = made.filter(({ podId }) => podId === pod.id)
    assert.deepEqual(await client.inboxes.list({ podId: 'listed' }).page(), {
      data: inPod,
      total: 2,
    })
    const second = await client.inboxes.list({ limit: 2, offset: 1 }).page()
    assert.deepEqual(second, { data: made.slice(1, 3), total: 4 })
    for (const podId of [UNKNOWN_POD, 'unknown', '']) {
      assert.deepEqual(await client.inboxes.list({ podId }).page(), { data: [], total: 0 })
    }
  })

  test('an inbox is found by an address for which it receives mail, in its own account only', async () => {
    const own = await world.newAccount()
    const inbox = await own.client.inboxes.create({ mailboxName: 'looked-up' })
    await own.client.inboxes.create()
    const found = { data: [inbox], total: 1 }
    for (const address of [inbox.address, 'Looked-Up+news@mailroom.localhost']) {
      assert.deepEqual(await own.client.inboxes.list({ address }).page(), found, address)
    }
    const second = await own.client.inboxes.list({ address: inbox.address, offset: 1 }).page()
    assert.deepEqual(second, { data: [], total: 1 })
    const pod = await own.client.pods.create({ clientId: 'other' })
    const none = { data: [], total: 0 }
    for (const query of [
      { address: 'looked@mailroom.localhost' },
      { address: 'looked-up' },
      { address: inbox.address, podId: pod.id },
      { address: inbox.address, metadata: { tenant: 'a' } },
    ]) {
      assert.deepEqual(await own.client.inboxes.list(query).page(), none, JSON.stringify(query))
    }
    assert.deepEqual(await client.inboxes.list({ address: inbox.address }).page(), none)
  })

  test('a released address is available at once to its account', async () => {
    const inbox = await client.inboxes.create({ mailboxName: 'recycled' })
    await client.inboxes.delete(inbox.id)
    const again = await client.inboxes.create({ mailboxName: 'recycled' })
    assert.notEqual(again.id, inbox.id)
    const mail = { to: again.address, raw: plainMail({ to: again.address }) }
    assert.equal((await world.send(mail)).code, 250)
    assert.equal((await client.messages.list(again.id).page()).total, 1)
  })

  test('a released address is unavailable to other accounts for thirty days', async () => {
    const inbox = await client.inboxes.create({ mailboxName: 'reserved-for-me' })
    await client.inboxes.delete(inbox.id)
    const other = (await world.newAccount()).client
    const attempt = () => other.inboxes.create({ mailboxName: 'reserved-for-me' })
    assert.equal(await refusal(attempt()), '409 address_taken')
    world.clock.advance(30 * DAY_MS - 60_000)
    assert.equal(await refusal(attempt()), '409 address_taken')
    world.clock.advance(60_000)
    await attempt()
    const mine = client.inboxes.create({ mailboxName: 'reserved-for-me' })
    assert.equal(await refusal(mine), '409 address_taken')
  })
})
