import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APPROVERS_MAX } from '#accounts/approver-rows.ts'
import { runSql } from '#test/peers/sql.ts'
import { browse, postSession, signIn } from '#test/scenarios/console-world.ts'
import { countOutcomes, outcomeOf, refusal } from '#test/scenarios/outcomes.ts'
import {
  OPERATOR_TOKEN,
  onAnyEngine,
  onBothEngines,
  onEachEngine,
  opened,
  openSecond,
  openWorld,
  plainMail,
} from '#test/world.ts'

onEachEngine('approvers', (engine) => {
  const world = opened(() => openWorld(engine))

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

onBothEngines('of first approvers that are created at once with a key', (engine) => {
  const world = opened(() => openWorld(engine))

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
