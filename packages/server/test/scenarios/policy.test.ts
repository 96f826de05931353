import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POLICY_RULES_MAX } from '@mailroom/contract/vocabulary.ts'
import type { Mailroom, Policy } from '@mailroom/sdk'
import { DAY_MS, HOUR_MS } from '#platform/units.ts'
import { purgeExpired } from '#removal/removal.ts'
import { runSql } from '#test/peers/sql.ts'
import { countOutcomes, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

const GUARDS = {
  newRecipients: 'inherit',
  provenance: 'inherit',
  outsideThread: 'inherit',
  secrets: 'inherit',
  attachments: 'inherit',
  maxPerHour: null,
} as const
const ALLOWED = {
  newRecipients: 'allow',
  provenance: 'allow',
  outsideThread: 'allow',
  secrets: 'allow',
  attachments: 'allow',
  maxPerHour: null,
} as const

/** The types and values of rules, in their order. */
const written = (rules: Policy['outbound']['rules']) =>
  rules.map(({ type, value }) => `${type} ${value}`)

onEachEngine('policy', (engine) => {
  const world = opened(() => openTenant(engine))

  async function housed() {
    const account = await world.newAccount()
    const { client } = account
    const pod = await client.pods.create({ clientId: 'tenant' })
    const inbox = await client.inboxes.create({ podId: pod.id })
    return { ...account, pod, inbox }
  }

  const auditOf = async (client: Mailroom, query = {}) =>
    (await client.policy.audit(query).page()).data

  test('a new account, pod and inbox let everything pass', async () => {
    const { client, pod, inbox } = await housed()
    const account = await client.policy.get()
    assert.deepEqual(account.scope, { podId: null, inboxId: null })
    assert.deepEqual(account.inbound, { mode: 'none', rules: [] })
    const none = { rules: [], allowedFindings: [] }
    assert.deepEqual(account.outbound, { mode: 'none', guards: ALLOWED, ...none })
    for (const [query, scope] of [
      [{ podId: 'tenant' }, { podId: pod.id, inboxId: null }],
      [{ inboxId: inbox.id }, { podId: pod.id, inboxId: inbox.id }],
    ] as const) {
      const policy = await client.policy.get(query)
      assert.deepEqual(policy.scope, scope)
      assert.deepEqual(policy.inbound, { mode: 'inherit', rules: [] })
      assert.deepEqual(policy.outbound, { mode: 'inherit', guards: GUARDS, ...none })
      assert.deepEqual(policy.effective, account.effective)
    }
    const { inbound, outbound } = account.effective
    assert.deepEqual([inbound.mode, outbound.mode, outbound.guards], ['none', 'none', ALLOWED])
    assert.deepEqual(await auditOf(client), [])
  })

  test('the narrower policy wins, and effective says where each part comes from', async () => {
    const { client, pod, inbox } = await housed()
    await client.policy.replace({
      inbound: { mode: 'allowlist' },
      outbound: {
        mode: 'allowlist',
        rules: [
          { type: 'allow', value: 'Partner.EXAMPLE' },
          { type: 'block', value: 'ann@partner.example' },
        ],
        guards: { secrets: 'reject', attachments: 'reject' },
      },
    })
    await client.policy.replace(
      {
        inbound: { mode: 'none' },
        outbound: { rules: [{ type: 'allow', value: '*.partner.example' }] },
      },
      { podId: 'tenant' },
    )
    await client.policy.replace(
      { outbound: { mode: 'none', guards: { secrets: 'allow' } } },
      { inboxId: inbox.id },
    )
    const { effective, outbound } = await client.policy.get({ inboxId: inbox.id })
    assert.deepEqual([outbound.mode, outbound.rules], ['none', []])
    assert.deepEqual([effective.inbound.mode, effective.inbound.modeFrom], ['none', 'pod'])
    assert.deepEqual([effective.outbound.mode, effective.outbound.modeFrom], ['none', 'inbox'])
    assert.deepEqual(effective.outbound.guards, { ...ALLOWED, attachments: 'reject' })
    assert.equal(effective.outbound.guardsFrom.secrets, 'inbox')
    assert.equal(effective.outbound.guardsFrom.attachments, 'account')
    assert.deepEqual(
      effective.outbound.rules.map(({ value, podId }) => [value, podId]),
      [
        ['*.partner.example', pod.id],
        ['ann@partner.example', null],
        ['partner.example', null],
      ],
    )
    assert.deepEqual((await client.policy.get()).effective.outbound.mode, 'allowlist')
  })

  test('a replacement changes only the directions that it names, each whole', async () => {
    const { client } = await housed()
    const rules = [
      { type: 'allow', value: 'a.example' },
      { type: 'block', value: 'b.example' },
    ] as const
    const first = await client.policy.replace({
      inbound: { mode: 'allowlist', rules: [...rules] },
      outbound: { rules: [...rules], guards: { secrets: 'reject' } },
    })
    const kept = await client.policy.replace({ outbound: { rules: [...rules].reverse() } })
    assert.deepEqual(kept.inbound, first.inbound)
    assert.deepEqual(kept.outbound.guards, ALLOWED)
    // Rules that are equal keep their ids, so that a policy can be sent back as it was read.
    assert.deepEqual(kept.outbound.rules, first.outbound.rules)
    const again = await client.policy.replace({ inbound: first.inbound, outbound: kept.outbound })
    assert.deepEqual(again, kept)
    assert.deepEqual((await client.policy.replace({ outbound: {} })).outbound.rules, [])
    assert.deepEqual((await client.policy.get()).inbound, first.inbound)
  })

  test('a mode changes alone, also while others change the policy', async () => {
    const { client, key, inbox } = await housed()
    const setMode = async (body: object, query = '') => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const given = { method: 'PUT', headers, body: JSON.stringify(body) }
      return world.fetch(`/v1/policy/mode${query}`, given)
    }
    const rules = [{ type: 'allow', value: 'a.example' }] as const
    const at = { inboxId: inbox.id }
    const allowedFindings = [{ kind: 'iban', sha256: '0'.repeat(64) }]
    const before = await client.policy.replace(
      { outbound: { rules: [...rules], guards: { secrets: 'reject' }, allowedFindings } },
      at,
    )
    const outbound = { mode: 'allowlist', direction: 'outbound' }
    const answers = await Promise.all([
      setMode(outbound, `?inboxId=${inbox.id}`),
      setMode({ mode: 'none', direction: 'inbound' }, `?inboxId=${inbox.id}`),
      client.policy.createRule({ direction: 'outbound', type: 'block', value: 'b.example' }, at),
    ])
    assert.deepEqual([answers[0].status, answers[1].status], [200, 200])
    const after = await client.policy.get(at)
    assert.deepEqual([after.inbound.mode, after.outbound.mode], ['none', 'allowlist'])
    assert.deepEqual(after.outbound.guards, before.outbound.guards)
    assert.deepEqual(after.outbound.allowedFindings, before.outbound.allowedFindings)
    assert.deepEqual(after.outbound.rules.length, 2)
    assert.equal((await setMode(outbound, '?inboxId=inb_x')).status, 404)
    assert.equal((await setMode({ mode: 'some', direction: 'outbound' })).status, 400)
  })

  test('the inbound half is the sender rules and the filter mode of the account', async () => {
    const { client, pod } = await housed()
    const lax = { type: 'allow', value: 'lax.example', requireVerified: false } as const
    const rule = await client.senderRules.create(lax)
    const ofPod = await client.senderRules.create({ ...lax, podId: pod.id })
    await client.account.update({ filterMode: 'allowlist' })
    const { inbound } = await client.policy.get()
    const { id, type, value, requireVerified, expiresAt, note } = rule
    assert.deepEqual(inbound, {
      mode: 'allowlist',
      rules: [{ id, type, value, requireVerified, expiresAt, note }],
    })
    const block = await client.policy.createRule({
      direction: 'inbound',
      type: 'block',
      value: 'spam.example',
    })
    assert.equal((await client.senderRules.get(block.id)).value, 'spam.example')
    await client.policy.replace({ inbound: { rules: [lax] } })
    assert.deepEqual((await client.senderRules.list().page()).data, [ofPod, rule])
    assert.equal((await client.account.get()).filterMode, 'none')
    await client.policy.deleteRule(rule.id)
    assert.deepEqual((await client.senderRules.list().page()).data, [ofPod])
  })

  test('mail is screened by the mode of the inbox, the pod or the account', async () => {
    const { client, inbox } = await housed()
    const other = await client.inboxes.create()
    const arrive = async () => {
      const to = [inbox.address, other.address]
      await world.send({
        to,
        from: 'ann@friend.example',
        raw: plainMail({ from: 'ann@friend.example' }),
      })
      const page = await client.quarantine.list().page()
      const reasons = page.data.map(({ toAddr, reason }) => [toAddr, reason])
      for (const { id } of page.data) await client.quarantine.delete(id)
      return reasons
    }
    assert.deepEqual(await arrive(), [])
    const allowlist = { inbound: { mode: 'allowlist' } } as const
    await client.policy.replace(allowlist, { podId: 'tenant' })
    assert.deepEqual(await arrive(), [[inbox.address, 'not_allowed']])
    await client.policy.replace({ inbound: { mode: 'none' } }, { inboxId: inbox.id })
    await client.policy.replace(allowlist)
    assert.deepEqual(await arrive(), [[other.address, 'not_allowed']])
    await client.policy.replace({ inbound: { mode: 'inherit' } }, { inboxId: inbox.id })
    await client.policy.replace({ inbound: { mode: 'inherit' } }, { podId: 'tenant' })
    assert.equal((await arrive()).length, 2)
    const [entry] = await auditOf(client, { decision: 'quarantine' })
    assert.deepEqual(
      [entry?.direction, entry?.sender, entry?.reasons, entry?.actor],
      [
        'inbound',
        'ann@friend.example',
        [{ guard: 'mode', detail: 'No rule allows the sender.' }],
        null,
      ],
    )
    assert.equal((await client.policy.audit({ decision: 'quarantine' }).page()).total, 4)
  })

  test('*. and a domain is its subdomains alone', async () => {
    const { client, inbox } = await housed()
    await client.policy.createRule(
      { direction: 'inbound', type: 'block', value: '*.spam.example' },
      { inboxId: inbox.id },
    )
    for (const from of ['eve@spam.example', 'eve@a.spam.example', 'eve@b.a.spam.example']) {
      await world.send({ to: inbox.address, from, raw: plainMail({ from }) })
    }
    const held = (await client.quarantine.list().page()).data.map(({ fromAddr }) => fromAddr)
    assert.deepEqual(held, ['eve@b.a.spam.example', 'eve@a.spam.example'])
  })

  test('a mistake is named with its entry, and nothing is changed', async () => {
    const { client, inbox } = await housed()
    const good = { type: 'allow', value: 'a.example' } as const
    const mistakes: [body: object, path: string][] = [
      [
        { outbound: { rules: [good, good, good, { type: 'allow', value: 'com' }] } },
        'outbound.rules[3].value',
      ],
      [{ outbound: { rules: [{ ...good, value: 'a b' }] } }, 'outbound.rules[0].value'],
      [{ inbound: { rules: [good, { value: 'a.example' }] } }, 'inbound.rules[1].type'],
      [{ inbound: { rules: [{ ...good, type: 'perhaps' }] } }, 'inbound.rules[0].type'],
      [{ inbound: { rules: [{ ...good, more: 1 }] } }, 'inbound.rules[0].more'],
      [
        { inbound: { rules: [{ type: 'block', value: 'a.example', requireVerified: true }] } },
        'inbound.rules[0].requireVerified',
      ],
      [{ inbound: { mode: 'all' } }, 'inbound.mode'],
      [{ outbound: { guards: { secrets: 'never' } } }, 'outbound.guards.secrets'],
      [{ outbound: { guards: { maxPerHour: -1 } } }, 'outbound.guards.maxPerHour'],
      [{ outbound: { guards: { unknown: 'hold' } } }, 'outbound.guards.unknown'],
      [{ effective: {} }, 'effective'],
    ]
    for (const [body, path] of mistakes) {
      const refused = await refusalOf(client.policy.replace({ inbound: { mode: 'none' }, ...body }))
      assert.equal(`${refused.status} ${refused.code}`, '400 bad_request', path)
      assert.ok(refused.message.includes(`"${path}"`), refused.message)
    }
    const both = { podId: 'tenant', inboxId: inbox.id }
    assert.equal(await refusal(client.policy.get(both)), '400 bad_request')
    for (const query of [{ podId: 'none' }, { inboxId: 'none' }]) {
      for (const ask of [() => client.policy.get(query), () => client.policy.replace({}, query)]) {
        const { status, code, message } = await refusalOf(ask())
        assert.equal(`${status} ${code}`, '404 not_found')
        assert.ok(message.includes(Object.keys(query).join()), message)
      }
    }
    assert.deepEqual(await auditOf(client), [])
  })

  test('of replacements at once one wins whole', async () => {
    const { client, id } = await housed()
    const bodies = Array.from({ length: 12 }, (_, index) => ({
      inbound: {
        mode: index % 2 === 0 ? ('allowlist' as const) : ('none' as const),
        rules: Array.from({ length: 30 }, (_, rule) => ({
          type: 'allow' as const,
          value: `r${(rule + index) % 40}.of${index % 3}.example`,
        })),
      },
      outbound: {
        rules: [{ type: 'block' as const, value: `only${index}.example` }],
        guards: { attachments: index % 2 === 0 ? ('reject' as const) : ('allow' as const) },
      },
    }))
    await Promise.all(bodies.map((body) => client.policy.replace(body)))
    const { inbound, outbound } = await client.policy.get()
    const [only] = outbound.rules
    const winner = bodies.find(({ outbound }) => outbound.rules[0]?.value === only?.value)
    assert.ok(winner !== undefined)
    assert.equal(outbound.rules.length, 1)
    assert.equal(outbound.guards.attachments, winner.outbound.guards.attachments)
    assert.equal(inbound.mode, winner.inbound.mode)
    const sorted = (rules: { type: string; value: string }[]) =>
      rules.map(({ type, value }) => `${type} ${value}`).sort()
    assert.deepEqual(sorted(inbound.rules), sorted(winner.inbound.rules))
    const [counts] = await runSql(
      world,
      `select sender_rule_count, recipient_rule_count from accounts where id = '${id}'`,
    )
    assert.deepEqual(
      [Number(counts?.sender_rule_count), Number(counts?.recipient_rule_count)],
      [30, 1],
    )
  })

  test('rules go with their inbox or pod, and leave the total', async () => {
    const { client, pod, inbox, id } = await housed()
    const rule = { direction: 'outbound', type: 'block', value: 'a.example' } as const
    await client.policy.createRule(rule)
    const ofPod = await client.policy.createRule(rule, { podId: 'tenant' })
    assert.deepEqual([ofPod.podId, ofPod.inboxId], [pod.id, null])
    const ofInbox = await client.policy.createRule(rule, { inboxId: inbox.id })
    assert.deepEqual(await client.policy.createRule(rule, { inboxId: inbox.id }), ofInbox)
    const count = async () => {
      const [row] = await runSql(
        world,
        `select recipient_rule_count as count, (select count(*) from recipient_rules where account_id = '${id}') as rows_there from accounts where id = '${id}'`,
      )
      return [Number(row?.count), Number(row?.rows_there)]
    }
    assert.deepEqual(await count(), [3, 3])
    await client.inboxes.delete(inbox.id)
    assert.deepEqual(await count(), [2, 2])
    await client.pods.delete(pod.id)
    assert.deepEqual(await count(), [1, 1])
    const removals = Array.from({ length: 3 }, () => client.policy.deleteRule(ofPod.id))
    assert.deepEqual(await countOutcomes(removals), { '404 not_found': 3 })
  })

  test('an account has a limited number of rules for recipients', async () => {
    const { client, id } = await housed()
    const count = POLICY_RULES_MAX - 1
    await runSql(world, `update accounts set recipient_rule_count = ${count} where id = '${id}'`)
    const rules = ['a', 'b'].map((name) => ({ type: 'block' as const, value: `${name}.example` }))
    const outcome = await refusal(client.policy.replace({ outbound: { rules } }))
    assert.equal(outcome, '422 recipient_rule_limit_reached')
    assert.deepEqual((await client.policy.get()).outbound.rules, [])
    const direction = 'outbound'
    const made = rules.map((rule) => client.policy.createRule({ direction, ...rule }))
    assert.deepEqual(await countOutcomes(made), { done: 1, '422 recipient_rule_limit_reached': 1 })
  })

  test('with If-Match a replacement does not undo what changed meanwhile', async () => {
    const { client, inbox, pod } = await housed()
    const place = { inboxId: inbox.id }
    const read = await client.policy.get(place)
    const block = { direction: 'outbound', type: 'block', value: 'a.example' } as const
    await client.policy.createRule(block)
    await client.policy.replace({ outbound: { mode: 'allowlist' } }, { podId: pod.id })
    const same = await client.policy.get(place)
    assert.equal(same.etag, read.etag)
    await client.policy.createRule(block, place)
    const stale = { ...place, ifMatch: read.etag }
    const replacing = { outbound: { mode: 'none', rules: read.outbound.rules } } as const
    const refused = client.policy.replace(replacing, stale)
    assert.equal(await refusal(refused), '412 policy_changed')
    const now = await client.policy.get(place)
    assert.deepEqual(
      [now.outbound.mode, ...written(now.outbound.rules)],
      ['inherit', 'block a.example'],
    )
    const rules = [...now.outbound.rules]
    const races = Array.from({ length: 4 }, (_, index) =>
      client.policy.replace(
        {
          outbound: {
            rules,
            guards: { maxPerHour: null, secrets: index % 2 ? 'reject' : 'allow' },
          },
        },
        { ...place, ifMatch: now.etag },
      ),
    )
    assert.deepEqual(await countOutcomes(races), { done: 1, '412 policy_changed': 3 })
    const { etag } = await client.policy.get(place)
    assert.equal((await client.policy.replace({}, { ...place, ifMatch: '*' })).etag, etag)
  })

  test('many rules are replaced in one request', async () => {
    const { client } = await housed()
    const rules = Array.from({ length: 3_000 }, (_, index) => ({
      type: 'allow' as const,
      value: `r${index}.example`,
    }))
    await client.policy.replace({ outbound: { rules } })
    const some = await client.policy.replace({ outbound: { rules: rules.slice(2_990) } })
    assert.deepEqual(
      written(some.outbound.rules).sort(),
      rules.slice(2_990).map(({ value }) => `allow ${value}`),
    )
  })

  test('an inbox does not lose its policy by being deleted, where there is an approver', async () => {
    const { client, inbox } = await housed()
    const { token } = await client.approvers.create({ name: 'Ann' })
    const { policy } = world.clientWith(token)
    const own = { inboxId: inbox.id }
    await policy.replace({ outbound: { mode: 'allowlist' } }, own)
    assert.equal(await refusal(client.inboxes.delete(inbox.id)), '403 approver_required')
    await policy.replace({ outbound: { rules: [{ type: 'block', value: 'a.example' }] } }, own)
    assert.equal(await refusal(client.inboxes.delete(inbox.id)), '403 approver_required')
    await policy.replace({ outbound: {} }, own)
    await client.inboxes.delete(inbox.id)
  })

  test('nor does a pod, or an inbox by being made again in another pod', async () => {
    const { client, pod, inbox } = await housed()
    const { token } = await client.approvers.create({ name: 'Ann' })
    const { policy } = world.clientWith(token)
    const [mailboxName = ''] = inbox.address.split('@')
    const ofPod = { podId: pod.id }
    await policy.replace({ outbound: { mode: 'allowlist' } }, ofPod)
    await client.inboxes.delete(inbox.id)
    const ofAddress = `from released_addresses where address = '${inbox.address}'`
    const [released] = await runSql(world, `select account_id, pod_id ${ofAddress}`)
    assert.match(String(released?.account_id), /^acc_/)
    assert.equal(released?.pod_id, pod.id)
    assert.equal(await refusal(client.inboxes.create({ mailboxName })), '409 address_taken')
    // As a program of before has released it.
    await runSql(
      world,
      `update released_addresses set account_id = pod_id, pod_id = null where address = '${inbox.address}'`,
    )
    assert.equal(await refusal(client.inboxes.create({ mailboxName })), '409 address_taken')
    const again = await client.inboxes.create({ mailboxName, podId: pod.id })
    assert.equal(again.address, inbox.address)
    await client.inboxes.delete(again.id)
    assert.equal(await refusal(client.pods.delete(pod.id)), '403 approver_required')
    const direction = 'inbound'
    await policy.replace({ outbound: {} }, ofPod)
    await policy.createRule({ direction, type: 'block', value: 'a.example' }, ofPod)
    assert.equal(await refusal(client.pods.delete(pod.id)), '403 approver_required')
    await policy.replace({ inbound: {} }, ofPod)
    const elsewhere = await client.inboxes.create({ mailboxName })
    await client.inboxes.delete(elsewhere.id)
    await client.pods.delete(pod.id)
    await client.inboxes.create({ mailboxName })
  })

  test("the address of an inbox is its account's again when the guarded pod is gone", async () => {
    const { client, pod, inbox } = await housed()
    const { token } = await client.approvers.create({ name: 'Ann' })
    const { policy } = world.clientWith(token)
    const [mailboxName = ''] = inbox.address.split('@')
    await policy.replace({ outbound: { mode: 'allowlist' } }, { podId: pod.id })
    await client.inboxes.delete(inbox.id)
    await policy.replace({ outbound: {} }, { podId: pod.id })
    await client.pods.delete(pod.id)
    const other = await world.newAccount()
    assert.equal(await refusal(other.client.inboxes.create({ mailboxName })), '409 address_taken')
    await client.inboxes.create({ mailboxName })
  })

  test('only an approver changes a policy where there is one, and a hold needs one', async () => {
    const { client, inbox } = await housed()
    const holds = [{ secrets: 'hold' }, { maxPerHour: 5 }] as const
    for (const guards of holds) {
      const outcome = await refusal(client.policy.replace({ outbound: { guards } }))
      assert.equal(outcome, '409 no_approver')
    }
    const rule = { direction: 'outbound', type: 'block', value: 'a.example' } as const
    const { id } = await client.policy.createRule(rule)
    const { token, id: approverId } = await client.approvers.create({ name: 'Ann' })
    for (const change of [
      () => client.policy.replace({ outbound: {} }),
      () => client.policy.replace({}, { inboxId: inbox.id }),
      () => client.policy.createRule(rule),
      () => client.policy.deleteRule(id),
    ]) {
      assert.equal(await refusal(change()), '403 approver_required')
    }
    const ann = world.clientWith(token)
    await ann.policy.replace({ outbound: { guards: { secrets: 'hold', maxPerHour: 5 } } })
    const { guards } = (await client.policy.get()).outbound
    assert.deepEqual([guards.secrets, guards.maxPerHour], ['hold', 5])
    const [change] = await auditOf(ann, { direction: 'outbound' })
    assert.deepEqual(change?.actor, { kind: 'approver', id: approverId })
    assert.deepEqual(change?.change?.removed, {
      count: 1,
      first: [{ type: 'block', value: 'a.example' }],
    })
    assert.equal(change?.change?.guardsBefore?.secrets, 'allow')
    assert.equal(change?.change?.guardsAfter?.secrets, 'hold')
  })

  test('every change is in the audit with its key, and an equal replacement is none', async () => {
    const { client, inbox } = await housed()
    const { keyId } = await client.account.me()
    const rule = await client.senderRules.create({ type: 'block', value: 'a.example' })
    await client.senderRules.create({ type: 'block', value: 'a.example' })
    await client.account.update({ filterMode: 'allowlist' })
    await client.account.update({ filterMode: 'allowlist' })
    await client.senderRules.delete(rule.id)
    await client.policy.replace({ outbound: { mode: 'allowlist' } }, { inboxId: inbox.id })
    const entries = await auditOf(client)
    assert.deepEqual(
      entries.map(({ direction, decision, inboxId, change }) => [
        direction,
        decision,
        inboxId,
        change?.modeAfter,
        change?.added.count,
        change?.removed.count,
      ]),
      [
        ['outbound', 'change', inbox.id, 'allowlist', 0, 0],
        ['inbound', 'change', null, null, 0, 1],
        ['inbound', 'change', null, 'allowlist', 0, 0],
        ['inbound', 'change', null, null, 1, 0],
      ],
    )
    for (const { actor } of entries) assert.deepEqual(actor, { kind: 'key', id: keyId })
  })

  test('the audit is filtered, paged and kept for 90 days, also without its inbox', async () => {
    const { client, inbox } = await housed()
    const times: string[] = []
    for (const value of ['a.example', 'b.example', 'c.example']) {
      world.clock.advance(HOUR_MS)
      times.push(new Date(world.clock.now()).toISOString())
      await client.policy.createRule(
        { direction: 'outbound', type: 'block', value },
        { inboxId: inbox.id },
      )
    }
    await client.inboxes.delete(inbox.id)
    const valuesOf = async (query: object) =>
      (await auditOf(client, query)).map(({ change }) => change?.added.first[0]?.value)
    assert.deepEqual(await valuesOf({}), ['c.example', 'b.example', 'a.example'])
    assert.deepEqual(await valuesOf({ since: times[1] }), ['c.example', 'b.example'])
    assert.deepEqual(await valuesOf({ until: times[1] }), ['a.example'])
    assert.deepEqual(await valuesOf({ limit: 1, offset: 1 }), ['b.example'])
    assert.deepEqual(await valuesOf({ direction: 'inbound' }), [])
    assert.deepEqual(await valuesOf({ decision: 'reject' }), [])
    assert.equal((await client.policy.audit({ limit: 1 }).page()).total, 3)
    assert.equal(await refusal(client.policy.audit({ since: 'soon' }).page()), '400 bad_request')
    world.clock.advance(90 * DAY_MS - 1.5 * HOUR_MS)
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    assert.deepEqual(await valuesOf({}), ['c.example', 'b.example'])
  })
})
