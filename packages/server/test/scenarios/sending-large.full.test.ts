import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { sendMessage } from '#outbound/send/send-message.ts'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusal } from '#test/scenarios/outcomes.ts'
import { PLAIN, send } from '#test/scenarios/sending-world.ts'
import {
  changePart,
  moveAwayFromMidnight,
  onEachEngine,
  opened,
  openTenant,
  plainMail,
} from '#test/world.ts'

const LARGE: Partial<MessageToSend> = {
  attachments: [
    {
      filename: 'a.bin',
      contentType: 'application/octet-stream',
      data: Buffer.alloc(1_500_000, 'abc'),
    },
  ],
}

onEachEngine('a large send', (engine) => {
  let signed = 0
  let written = 0
  /** Called before a message is signed, with the number of earlier calls. */
  let onSign = async (_: number) => {}
  const env = {
    MAILROOM_LIMIT_SENDS_PER_MINUTE: '2',
    MAILROOM_LIMIT_COLD_PER_DAY: '1',
  }
  const world = opened(() => openTenant(engine, env))
  before(async () => {
    moveAwayFromMidnight(world.clock)
    const { signers, blobs } = world.app.deps
    changePart(signers, (own) => ({
      async sign(owner, raw, nowMs) {
        await onSign(signed++)
        return own.sign(owner, raw, nowMs)
      },
    }))
    if (blobs === null) return
    changePart(blobs, (own) => ({
      put(id, content) {
        written += 1
        return own.put(id, content)
      },
    }))
  })

  const composed = async (request: () => Promise<unknown>) => {
    const before = signed
    await request()
    return signed - before
  }

  test('that is refused by suppression, the rate or the limit on strangers is not composed', async () => {
    const inbox = await world.inbox()
    await world.client.suppressions.create({ address: 'never@friend.example' })
    await send(world, inbox)
    const cases: [Partial<MessageToSend>, string][] = [
      [{ cc: ['never@friend.example'] }, '422 recipient_suppressed'],
      [{ to: 'ann@friend.example' }, '429 cold_outreach_limit'],
    ]
    for (const [fields, expected] of cases) {
      const request = async () =>
        assert.equal(await refusal(send(world, inbox, { ...LARGE, ...fields })), expected)
      assert.equal(await composed(request), 0, expected)
    }
    assert.equal(await composed(() => send(world, inbox, LARGE)), 1)
    const tooMany = async () =>
      assert.equal(await refusal(send(world, inbox, LARGE)), '429 rate_limit_exceeded')
    assert.equal(await composed(tooMany), 0)
    world.clock.advance(60_000)
    assert.equal(await composed(() => send(world, inbox, LARGE)), 1)
  })

  test('that itself used up the limit is answered again, not refused by it', async () => {
    const inbox = await world.inbox()
    await send(world, inbox)
    const [row] = await runSql(world, `select account_id from inboxes where id = '${inbox.id}'`)
    // As with two concurrent repeats, neither of which finds an earlier answer.
    const ask = (idempotencyKey: string) =>
      sendMessage(world.app.deps, {
        accountId: String(row?.account_id),
        inboxId: inbox.id,
        idempotencyKey,
        requestHash: new Uint8Array(32),
        to: [PLAIN.to],
        cc: [],
        bcc: [],
        names: new Map(),
        replyAll: false,
        headers: [],
        sendAtMs: null,
        body: 'x'.repeat(50_000),
        bodyHtml: null,
        format: 'auto',
        includeSignature: true,
        subject: 'A subject',
        threadId: null,
        includeQuote: true,
        replyTo: null,
        attachments: [],
        hasUnsubscribe: false,
        isAutomatic: false,
        leaseTokenHash: null,
      })
    const first = await ask('a key')
    const again = await ask('a key')
    assert.deepEqual(again, { isReplay: true, response: first.response })
    await assert.rejects(ask('another key'), { code: 'rate_limit_exceeded' })
  })

  test('in a thread that gets mail meanwhile is composed again, and its bytes are written once', async () => {
    const inbox = await world.inbox()
    const ask = (index: number) =>
      plainMail({
        to: inbox.address,
        from: PLAIN.to,
        messageId: `<busy${index}.${inbox.id}@x>`,
        headers: index === 0 ? [] : [`In-Reply-To: <busy0.${inbox.id}@x>`],
      })
    const { threadId } = await deliver(world, inbox, ask(0))
    const first = signed
    onSign = async (count) => {
      if (count - first < 3) await deliver(world, inbox, ask(count - first + 1))
    }
    const before = written
    const sent = await send(world, inbox, { ...LARGE, subject: undefined, threadId })
    onSign = async () => {}
    assert.equal(signed - first, 4)
    assert.equal(written - before, world.app.deps.blobs === null ? 0 : 1)
    const { references, attachments } = await world.client.messages.get(sent.messageId)
    assert.equal(references.length, 4)
    const file = await fetch(attachments[0]?.url ?? '')
    assert.deepEqual(Buffer.from(await file.arrayBuffer()), LARGE.attachments?.[0]?.data)
  })

  test('of much HTML has the text of its layout', async () => {
    const inbox = await world.inbox()
    const html = '<p>x'.repeat(20_000)
    const sent = await send(world, inbox, { body: html })
    const { bodyText, bodyHtml } = await world.client.messages.get(sent.messageId)
    assert.equal(bodyHtml, html)
    assert.equal(bodyText.replaceAll(/\s/g, ''), 'x'.repeat(20_000))
  })
})
