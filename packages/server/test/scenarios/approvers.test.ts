import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApprover } from '#accounts/approver.ts'
import { APPROVERS_MAX } from '#accounts/store/approvers.ts'
import { runSql } from '#test/peers/sql.ts'
import { browse, postSession, signIn } from '#test/scenarios/console-world.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { countOutcomes, outcomeOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import {
  OPERATOR_TOKEN,
  onAnyEngine,
  onEachEngine,
  opened,
  openSecond,
  openTenant,
  openWorld,
  plainMail,
} from '#test/world.ts'

onEachEngine('approvers', (engine) => {
  const world = opened(() => openTenant(engine))

  /** A new account with an approver. */
  async function guarded() {
    const account = await world.newAccount()
    const approver = await account.client.approvers.create({ name: 'Ann' })
    return { ...account, approver, asApprover: world.clientWith(approver.token) }
  }

  test('the first one is created with a key, whose token is shown once and stored as a digest', async () => {
    const { client } = await world.newAccount()
    const made = await client.approvers.create({
      name: 'Ann Approver',
      email: 'Ann <Ann@people.example>',
    })
    const { token, ...shown } = made
    assert.match(token, /^mra_[0-9A-Za-z]{40}$/)
    assert.match(made.id, /^apr_[0-9a-z]{26}$/)
    assert.deepEqual([shown.name, shown.email], ['Ann Approver', 'Ann@people.example'])
    assert.deepEqual((await client.approvers.list().page()).data, [shown])
    const rows = await runSql(world, `select * from approvers where id = '${made.id}'`)
    assert.equal(rows.length, 1)
    assert.ok(!JSON.stringify(rows).includes(token))
  })

  test('once there is one, no key creates or deletes any, and an approver does', async () => {
    const { client, asApprover, approver } = await guarded()
    const create = client.approvers.create({ name: 'Eve' })
    assert.equal(await refusal(create), '403 approver_required')
    assert.equal(await refusal(client.approvers.delete(approver.id)), '403 approver_required')
    const second = await asApprover.approvers.create({ name: 'Bob' })
    assert.equal((await asApprover.approvers.list().page()).total, 2)
    await asApprover.approvers.delete(second.id)
    assert.equal(await refusal(asApprover.approvers.delete(second.id)), '404 not_found')
    const last = asApprover.approvers.delete(approver.id)
    assert.equal(await refusal(last), '409 last_approver')
  })

  test('a deleted one is refused at once, in sessions too', async () => {
    const { asApprover } = await guarded()
    const gone = await asApprover.approvers.create({ name: 'Gone' })
    const session = await signIn(world, gone.token)
    assert.equal((await browse(world, session, '/v1/approvers')).status, 200)
    await asApprover.approvers.delete(gone.id)
    const refused = world.clientWith(gone.token).approvers.list().page()
    assert.equal(await refusal(refused), '401 unauthorized')
    assert.equal(await outcomeOf(browse(world, session, '/v1/approvers')), '401 unauthorized')
    const again = postSession(world, { apiKey: gone.token })
    assert.equal(await outcomeOf(again), '401 unauthorized')
  })

  test('one is told apart in a session, whose changes need its CSRF token', async () => {
    const { approver } = await guarded()
    const signedIn = await signIn(world, approver.token)
    const { key, approver: shown } = signedIn.session
    assert.deepEqual([key, shown], [null, { id: approver.id, name: 'Ann' }])
    const make = (headers: Record<string, string>) =>
      browse(world, signedIn, '/v1/approvers', {
        method: 'POST',
        body: JSON.stringify({ name: 'Bob' }),
        headers,
      })
    assert.equal(await outcomeOf(make({ 'x-csrf-token': 'x' })), '403 invalid_csrf_token')
    assert.equal(await outcomeOf(make({})), '201')
    const key2 = (await signIn(world)).session
    assert.ok(key2.key !== null && key2.approver === null)
  })

  test('once there is one, only an approver or the operator changes what mail is accepted', async () => {
    const { id, client, asApprover } = await guarded()
    const rule = await asApprover.senderRules.create({ type: 'block', value: 'spam.example' })
    const loosen = client.senderRules.delete(rule.id)
    assert.equal(await refusal(loosen), '403 approver_required')
    const add = client.senderRules.create({ type: 'allow', value: 'spam.example' })
    assert.equal(await refusal(add), '403 approver_required')
    const same = client.senderRules.create({ type: 'block', value: 'spam.example' })
    assert.equal(await refusal(same), '403 approver_required')
    const mode = client.account.update({ filterMode: 'allowlist' })
    assert.equal(await refusal(mode), '403 approver_required')
    assert.equal((await client.account.get()).filterMode, 'none')
    for (const retentionDays of [1, null]) {
      const both = asApprover.account.update({ filterMode: 'allowlist', retentionDays })
      await assert.rejects(both, { status: 403, code: 'forbidden' })
    }
    assert.equal((await client.account.get()).filterMode, 'none')
    assert.equal((await asApprover.account.update({ filterMode: 'allowlist' })).id, id)
    await asApprover.senderRules.delete(rule.id)
    await world.clientWith(OPERATOR_TOKEN).admin.accounts.update(id, { name: 'renamed' })
  })

  test('one reads mail with its attachments', async () => {
    const { client, asApprover, approver } = await guarded()
    const inbox = await client.inboxes.create()
    const headers = ['MIME-Version: 1.0', 'Content-Disposition: attachment; filename=a.txt']
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address, headers }) })
    const [message] = (await asApprover.messages.list(inbox.id).page()).data
    assert.ok(message !== undefined)
    assert.equal((await asApprover.messages.get(message.id)).id, message.id)
    assert.match(String(await asApprover.messages.raw(message.id)), /./)
    const path = `/v1/attachments/${message.id}/a.txt`
    const authorization = `Bearer ${approver.token}`
    assert.equal((await world.fetch(path, { headers: { authorization } })).status, 200)
    const marked = asApprover.threads.update(message.threadId, { is_read: true })
    assert.equal(await refusal(marked), '403 forbidden')
  })

  test('an address at which an inbox could read is refused, and so is a malformed one', async () => {
    const { client } = await world.newAccount()
    const { inboxDomain } = world.settings
    for (const email of [
      `boss@${inboxDomain}`,
      `boss@mail.${inboxDomain.toUpperCase()}`,
      'boss',
      'a@b@c',
    ]) {
      assert.equal(
        await refusal(client.approvers.create({ name: 'Ann', email })),
        '400 bad_request',
      )
    }
    for (const name of ['', 'a\nb', 'a\u202eb', 'x'.repeat(201)]) {
      assert.equal(await refusal(client.approvers.create({ name })), '400 bad_request')
    }
    assert.equal((await client.approvers.list().page()).total, 0)
  })

  test('an account has a bounded number of them', async () => {
    const { asApprover } = await guarded()
    for (let count = 1; count < APPROVERS_MAX; count += 1) {
      await asApprover.approvers.create({ name: `approver ${count}` })
    }
    const more = asApprover.approvers.create({ name: 'one more' })
    assert.equal(await refusal(more), '422 approver_limit_reached')
  })
})

onEachEngine('the evidence of approvers', (engine) => {
  const world = opened(() => openTenant(engine))

  test('has who made and deleted them, in the audit and as events', async () => {
    const { client } = await world.newAccount()
    const ann = await client.approvers.create({ name: 'Ann', email: 'ann@people.example' })
    const asAnn = world.clientWith(ann.token)
    const eve = await asAnn.approvers.create({ name: 'Eve' })
    await asAnn.approvers.delete(eve.id)
    const { data } = await client.policy.audit().page()
    const shown = data.map(({ decision, actor, approver }) => [decision, actor?.kind, approver])
    const [first, second] = [
      { id: ann.id, name: 'Ann' },
      { id: eve.id, name: 'Eve' },
    ]
    assert.deepEqual(shown, [
      ['approver_deleted', 'approver', second],
      ['approver_created', 'approver', second],
      ['approver_created', 'key', first],
    ])
    await untilReadable(world)
    const events = await client.events
      .list({ event_types: 'approver.created,approver.deleted' })
      .page()
    const told = events.data.map(({ event, approver }) => [event, approver])
    assert.deepEqual(told, [
      ['approver.created', first],
      ['approver.created', second],
      ['approver.deleted', second],
    ])
  })

  test('has each decision and who made it, also once the inbox is deleted', async () => {
    const { client } = await world.newAccount()
    const ann = await client.approvers.create({ name: 'Ann' })
    const asAnn = world.clientWith(ann.token)
    await asAnn.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const inbox = await client.inboxes.create()
    const hold = async (to: string) => {
      const sent = await client.inboxes.send(inbox.id, { to, subject: 'S', body: 'B' })
      return { id: sent.hold?.id ?? '', digest: sent.hold?.digest ?? '', message: sent.messageId }
    }
    const approved = await hold('a@new.example')
    const rejected = await hold('b@new.example')
    const cancelled = await hold('c@new.example')
    const removed = await hold('d@new.example')
    await asAnn.reviews.approve(approved.id, { digest: approved.digest })
    await asAnn.reviews.reject(rejected.id, { reason: 'No.' })
    await client.messages.cancel(cancelled.message)
    await client.inboxes.delete(inbox.id)
    const ends = async () => {
      const { data } = await asAnn.policy.audit().page()
      return data
        .filter(({ reviewId }) => reviewId !== null)
        .map(({ decision, reviewId, note, actor }) => [decision, reviewId, note, actor?.id ?? null])
    }
    await until(async () => (await ends()).length === 4)
    assert.deepEqual(
      (await ends()).sort(),
      [
        ['approved', approved.id, null, ann.id],
        ['rejected', rejected.id, 'No.', ann.id],
        ['rejected', cancelled.id, 'cancelled', null],
        ['rejected', removed.id, 'message_deleted', null],
      ].sort(),
    )
  })

  test('keeps an address until an approver erases it, and then a code for it', async () => {
    const { client } = await world.newAccount()
    const ann = await client.approvers.create({ name: 'Ann' })
    const asAnn = world.clientWith(ann.token)
    await asAnn.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const inbox = await client.inboxes.create()
    const address = 'erin@new.example'
    const send = (to: string) => client.inboxes.send(inbox.id, { to, subject: 'S', body: 'B' })
    const { hold } = await send(address)
    const refused = await refusalOf(client.erasures.create({ address: 'Erin <ERIN@new.example>' }))
    assert.deepEqual([refused.status, refused.code], [403, 'approver_required'])
    // An address that only looks alike, or that the audit does not name, is no evidence.
    for (const free of ['rin@new.example', 'nobody@other.example']) {
      await client.erasures.untilDone((await client.erasures.create({ address: free })).id)
    }
    assert.equal((await asAnn.reviews.get(hold?.id ?? '')).status, 'pending')
    await client.inboxes.delete(inbox.id)
    await until(async () => (await asAnn.reviews.get(hold?.id ?? '')).isMessageDeleted)
    const { id } = await asAnn.erasures.create({ address })
    const done = await asAnn.erasures.untilDone(id)
    assert.deepEqual([done.removed.auditEntries, done.removed.reviews], [1, 1])
    assert.equal(await refusal(asAnn.reviews.get(hold?.id ?? '')), '404 not_found')
    const { data } = await asAnn.policy.audit().page()
    const held = data.find(({ decision }) => decision === 'hold')
    const [code = ''] = held?.recipients ?? []
    assert.match(code, /^[0-9a-f]{16}@erased\.invalid$/)
    assert.equal(held?.reasons[0]?.recipient, code)
    assert.ok(!JSON.stringify(data).includes('erin@'))
    const erasures = data.filter(({ decision }) => decision === 'erasure')
    assert.deepEqual(
      erasures.map(({ actor }) => actor?.kind),
      ['approver', 'key', 'key'],
    )
    assert.equal(erasures[0]?.erasureId, id)
  })

  test('of before an approver is erased by a key as long as there is none', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const rules = [{ type: 'block' as const, value: 'erin@new.example' }]
    await client.policy.replace({ outbound: { rules } }, { inboxId: inbox.id })
    const { id } = await client.erasures.create({ address: 'erin@new.example' })
    assert.equal((await client.erasures.untilDone(id)).removed.auditEntries, 1)
  })
})

onAnyEngine('with MAILROOM_FIRST_APPROVER=machine', (engine) => {
  test('a key creates no first approver, and an approver creates others', async () => {
    await using world = await openWorld(engine, { env: { MAILROOM_FIRST_APPROVER: 'machine' } })
    const { client, id } = await world.newAccount()
    const refused = await refusalOf(client.approvers.create({ name: 'Ann' }))
    assert.deepEqual([refused.status, refused.code], [403, 'approver_required'])
    assert.match(String(refused.body.fix), /mailroom admin approver create --account acc_/)
    const { approver, token } = await createApprover(
      { ...world.app.deps, firstApprover: 'machine', isDomainHere: async () => false },
      { accountId: id, name: 'Ann', email: null, webhookUrl: null, actor: { kind: 'operator' } },
    )
    const other = await world.clientWith(token).approvers.create({ name: 'Bob' })
    const listed = (await client.approvers.list().page()).data.map((one) => one.id)
    assert.deepEqual(listed.sort(), [approver.id, other.id].sort())
  })
})

onEachEngine('of first approvers that are created at once with a key', (engine) => {
  const world = opened(() => openTenant(engine))

  test('exactly one is', async () => {
    await using second = engine === 'postgres' ? await openSecond(world) : null
    const addresses = [world.baseUrl, second?.http?.address ?? world.baseUrl]
    for (let round = 0; round < 3; round += 1) {
      const { key, client } = await world.newAccount()
      const create = (index: number) =>
        fetch(`${addresses[index % 2]}/v1/approvers`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: '{"name":"first"}',
        })
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) => outcomeOf(create(index))),
      )
      assert.deepEqual(outcomes.filter((outcome) => outcome === '201').length, 1)
      assert.ok(outcomes.every((one) => one === '201' || one === '403 approver_required'))
      assert.equal((await client.approvers.list().page()).total, 1)
    }
  })

  test('and a policy change beside them is made before the first one or refused', async () => {
    const { client } = await world.newAccount()
    const counts = await countOutcomes([
      ...Array.from({ length: 10 }, (_, index) =>
        client.senderRules.create({ type: 'allow', value: `a${index}.example` }),
      ),
      client.approvers.create({ name: 'first' }),
      ...Array.from({ length: 10 }, (_, index) =>
        client.senderRules.create({ type: 'allow', value: `b${index}.example` }),
      ),
    ])
    assert.equal((counts.done ?? 0) + (counts['403 approver_required'] ?? 0), 21)
    assert.equal((await client.senderRules.list().page()).total, (counts.done ?? 0) - 1)
    const late = client.senderRules.create({ type: 'allow', value: 'late.example' })
    assert.equal(await refusal(late), '403 approver_required')
  })
})

onAnyEngine('the requests of an approver', (engine) => {
  test('have a limit of their own, which an agent cannot use up', async () => {
    const env = { MAILROOM_LIMIT_API_PER_MINUTE: '5' }
    await using world = await openWorld(engine, { env })
    const { token } = await world.client.approvers.create({ name: 'Ann' })
    const list = (key: string) => world.clientWith(key).approvers.list().page()
    const byKey = await countOutcomes(Array.from({ length: 10 }, () => list(world.key)))
    assert.equal(byKey['429 rate_limit_exceeded'], 6)
    const byApprover = await countOutcomes(Array.from({ length: 8 }, () => list(token)))
    assert.deepEqual(byApprover, { done: 5, '429 rate_limit_exceeded': 3 })
  })

  test('with a wrong token count as failed authentications', async () => {
    const env = { MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: '3' }
    await using world = await openWorld(engine, { env })
    const wrong = `mra_${'x'.repeat(40)}`
    const tries = Array.from({ length: 5 }, () => world.clientWith(wrong).approvers.list().page())
    assert.deepEqual(await countOutcomes(tries), {
      '401 unauthorized': 3,
      '429 rate_limit_exceeded': 2,
    })
  })
})
