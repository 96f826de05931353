import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant } from '#test/world.ts'

const CARD = '4242 4242 4242 4242'
const OTHER_CARD = '4111 1111 1111 1111'
const SHA256 = hash('sha256', CARD)
const allowed = { kind: 'card_number', sha256: SHA256 }

onEachEngine('values that the guard for secrets lets pass', (engine) => {
  const world = opened(() => openTenant(engine))

  /** An account whose approver sets the policy of everything. */
  async function guarded() {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const ann = world.clientWith((await client.approvers.create({ name: 'Ann' })).token)
    return { client, inbox, ann }
  }

  const send = (client: Mailroom, { id }: Inbox, body: string) =>
    client.inboxes.send(id, { to: 'bob@friend.example', subject: 'A subject', body })

  test('leave, but no other value, and no value of another kind', async () => {
    const { client, inbox, ann } = await guarded()
    const guards = { secrets: 'reject' } as const
    await ann.policy.replace({ outbound: { guards, allowedFindings: [allowed] } })
    await send(client, inbox, `The test card is ${CARD}. Again: ${CARD}.`)
    for (const body of [OTHER_CARD, `${CARD} or ${OTHER_CARD}`, CARD.replaceAll(' ', '')]) {
      const { code } = await refusalOf(send(client, inbox, `The card is ${body}.`))
      assert.equal(code, 'content_not_permitted', body)
    }
    const { body } = await refusalOf(send(client, inbox, `${CARD} or ${OTHER_CARD}`))
    const rest = { kind: 'card_number', part: 'bodyText', offset: 23, length: 19 }
    assert.deepEqual(body.findings, [rest])
    const asIban = [{ ...allowed, kind: 'iban' }]
    await ann.policy.replace({ outbound: { guards, allowedFindings: asIban } })
    assert.equal((await refusalOf(send(client, inbox, CARD))).code, 'content_not_permitted')
  })

  test('are none in a message with more than fifty secrets', async () => {
    const { client, inbox, ann } = await guarded()
    const guards = { secrets: 'reject' } as const
    await ann.policy.replace({ outbound: { guards, allowedFindings: [allowed] } })
    await send(client, inbox, `${CARD}\n`.repeat(50))
    const { code } = await refusalOf(send(client, inbox, `${CARD}\n`.repeat(51)))
    assert.equal(code, 'content_not_permitted')
  })

  test('are those of the inbox, its pod and the account together', async () => {
    const { client, inbox, ann } = await guarded()
    const other = { kind: 'iban', sha256: '0'.repeat(64), note: 'Our own account' }
    await ann.policy.replace({
      outbound: { guards: { secrets: 'hold' }, allowedFindings: [allowed, other] },
    })
    const { outbound, effective } = await ann.policy.replace(
      { outbound: { allowedFindings: [allowed, { ...allowed, note: 'Twice' }] } },
      { inboxId: inbox.id },
    )
    assert.deepEqual(outbound.allowedFindings, [{ ...allowed, note: 'Twice' }])
    assert.deepEqual(effective.outbound.allowedFindings, [
      { ...allowed, note: 'Twice', from: 'inbox' },
      { ...other, from: 'account' },
    ])
    await ann.policy.replace({ outbound: { guards: { secrets: 'hold' } } })
    assert.equal((await send(client, inbox, CARD)).hold, undefined)
    await ann.policy.replace({ outbound: {} }, { inboxId: inbox.id })
    assert.notEqual((await send(client, inbox, CARD)).hold, undefined)
  })

  test('are named by a hash that only the approver of held mail sees', async () => {
    const { client, inbox, ann } = await guarded()
    await ann.policy.replace({ outbound: { guards: { secrets: 'hold' } } })
    const message = { to: 'bob@friend.example', subject: 'A subject', body: `Pay with ${CARD}.` }
    const checked = await client.inboxes.checkSend(inbox.id, message)
    const { hold, messageId } = await client.inboxes.send(inbox.id, message)
    const id = hold?.id ?? ''
    const [listed] = (await ann.reviews.list().page()).data
    const found = { kind: 'card_number', part: 'bodyText', offset: 9, length: CARD.length }
    for (const { reasons } of [await ann.reviews.get(id), listed ?? { reasons: [] }]) {
      assert.deepEqual(reasons[0]?.findings, [{ ...found, sha256: SHA256 }])
    }
    const told = [
      checked,
      hold,
      await client.reviews.get(id),
      await client.reviews.list().page(),
      await client.messages.get(messageId),
      await client.events.list().page(),
      await ann.policy.audit().page(),
    ]
    assert.match(JSON.stringify(told), /"card_number"/)
    assert.equal(JSON.stringify(told).includes(SHA256), false)
    const edit = { digest: hold?.digest ?? '', body: `Pay with ${OTHER_CARD}.` }
    const edited = await ann.reviews.edit(id, edit)
    assert.equal(edited.reasons[0]?.findings?.[0]?.sha256, hash('sha256', OTHER_CARD))
    await ann.policy.replace({ outbound: { guards: { secrets: 'reject' } } })
    const { body } = await refusalOf(client.inboxes.send(inbox.id, message))
    assert.deepEqual(body.findings, [found])
  })

  test('are changed by an approver only, and the audit says which', async () => {
    const { client, inbox, ann } = await guarded()
    const change = { outbound: { allowedFindings: [{ ...allowed, note: 'The test card' }] } }
    const refused = await refusalOf(client.policy.replace(change, { inboxId: inbox.id }))
    assert.equal(refused.code, 'approver_required')
    await ann.policy.replace(change)
    await ann.policy.replace({ outbound: {} })
    const { data } = await ann.policy.audit({ decision: 'change' }).page()
    const noted = [{ ...allowed, note: 'The test card' }]
    assert.deepEqual(
      data.map(({ change }) => change?.allowedFindings),
      [
        { added: [], removed: noted },
        { added: noted, removed: [] },
      ],
    )
  })

  test('are at most a hundred, each with a kind and a SHA-256', async () => {
    const { ann } = await guarded()
    const many = Array.from({ length: 101 }, (_, index) => ({
      kind: 'card_number',
      sha256: index.toString(16).padStart(64, '0'),
    }))
    const wrong = [
      many,
      [{ ...allowed, sha256: CARD }],
      [{ ...allowed, sha256: SHA256.toUpperCase() }],
      [{ ...allowed, kind: 'Card number' }],
    ]
    for (const allowedFindings of wrong) {
      const { code } = await refusalOf(ann.policy.replace({ outbound: { allowedFindings } }))
      assert.equal(code, 'bad_request')
    }
    const kept = await ann.policy.replace({ outbound: { allowedFindings: many.slice(1) } })
    assert.equal(kept.outbound.allowedFindings.length, 100)
  })
})
