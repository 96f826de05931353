// Scanners of arriving mail: what their answers change, and what their absence does not.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Message } from '@mailroom/sdk'
import { openClamd, openRspamd, rspamdSays } from '#test/peers/scanners.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, openWorld, plainMail, prepared, type World } from '#test/world.ts'

function told({ verdict, spamScore, category, autoReplyable, categoryReasons }: Message) {
  return { verdict, spamScore, category, autoReplyable, categoryReasons }
}

onEachEngine('mail that scanners look at', (engine) => {
  const made = prepared(async () => {
    const rspamd = await openRspamd()
    const clamd = await openClamd()
    const env = { MAILROOM_RSPAMD_URL: rspamd.url, MAILROOM_CLAMD_URL: clamd.url }
    return { rspamd, clamd, world: await openWorld(engine, { env }) }
  })
  after(async () => {
    await made.world.close()
    await made.rspamd[Symbol.asyncDispose]()
    await made.clamd[Symbol.asyncDispose]()
  })
  const good = () => {
    made.rspamd.answer = rspamdSays('no action', 0.1)
    made.clamd.reply = 'stream: OK\0'
    made.clamd.isEarly = false
  }
  const receive = async (body = 'A body.') => {
    const inbox = await made.world.inbox()
    return deliver(made.world, inbox, plainMail({ to: inbox.address, body }))
  }

  test('is clean, with its score, if both say so, and both get every byte', async () => {
    good()
    const message = await receive('x'.repeat(1_000_000))
    assert.deepEqual(told(message), {
      verdict: 'clean',
      spamScore: 0.1,
      category: 'personal',
      autoReplyable: true,
      categoryReasons: [],
    })
    const raw = await (await made.world.fetch(`/v1/messages/${message.id}/raw`)).text()
    const asked = made.rspamd.asked.at(-1)
    assert.ok(raw.endsWith(asked?.body ?? ''))
    assert.ok(raw.endsWith(made.clamd.scanned.at(-1) ?? ''))
    assert.ok((asked?.body.length ?? 0) > 1_000_000)
    assert.equal(asked?.headers.rcpt, message.toAddr)
    assert.equal(asked?.headers.ip, '127.0.0.1')
  })

  for (const action of ['reject', 'add header', 'rewrite subject']) {
    test(`is spam, and stored, if rspamd says ${action}`, async () => {
      good()
      made.rspamd.answer = rspamdSays(action, 11.5)
      assert.deepEqual(told(await receive()), {
        verdict: 'spam',
        spamScore: 11.5,
        category: 'spam',
        autoReplyable: false,
        categoryReasons: [{ rule: 'rspamd', detail: `${action}, 11.5 of 15: FORGED, BAD_LINK` }],
      })
    })
  }

  test('goes to quarantine with a virus, and is told without its text', async () => {
    good()
    made.clamd.reply = 'stream: Eicar-Signature FOUND\0'
    const { world } = made
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, subject: 'Invoice', body: 'secret text' })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const { data } = await world.client.quarantine.list({ inboxId: inbox.id }).page()
    const [kept] = data
    assert.equal(kept?.reason, 'malware')
    assert.equal(kept?.ruleId, null)
    assert.equal((await world.client.messages.list(inbox.id).page()).total, 0)
    const asked = { inbox_id: inbox.id, event_types: 'message.quarantined' }
    await until(async () => (await world.client.events.list(asked).page()).total > 0)
    const [event] = (await world.client.events.list(asked).page()).data
    const { category_reasons, ...quarantined } = event?.quarantined ?? {}
    assert.deepEqual(quarantined, {
      id: kept?.id,
      from: 'Ann Sender <ann@sender.example>',
      to: inbox.address,
      subject: 'Invoice',
      reason: 'malware',
      rule_id: null,
      auto_replyable: false,
      category: 'malicious',
      verdict: 'malicious',
      spam_score: 0.1,
    })
    assert.deepEqual(category_reasons, [{ rule: 'clamd', detail: 'Eicar-Signature' }])
    assert.ok(!JSON.stringify(event).includes('secret text'))
    const released = await world.client.quarantine.release(kept?.id ?? '')
    assert.deepEqual([released.category, released.verdict], ['malicious', 'malicious'])
    assert.equal(released.autoReplyable, false)
  })

  const FAULTS: [string, () => void, rule: string][] = [
    [
      'rspamd answers with rubbish',
      () => (made.rspamd.answer = { status: 200, text: '<html>' }),
      'rspamd',
    ],
    [
      'rspamd answers without a score',
      () => (made.rspamd.answer = { status: 200, text: '{}' }),
      'rspamd',
    ],
    ['rspamd fails', () => (made.rspamd.answer = { status: 500, text: '' }), 'rspamd'],
    ['rspamd answers without an end', () => (made.rspamd.answer = 'hang'), 'rspamd'],
    [
      'rspamd answers with too much',
      () => (made.rspamd.answer = { status: 200, text: 'x'.repeat(3_000_000) }),
      'rspamd',
    ],
    ['clamd replies with rubbish', () => (made.clamd.reply = 'what?\0'), 'clamd'],
    [
      'clamd replies with an error',
      () => (made.clamd.reply = 'INSTREAM size limit exceeded. ERROR\0'),
      'clamd',
    ],
    ['clamd closes the connection', () => (made.clamd.reply = 'close'), 'clamd'],
    ['clamd closes in its reply', () => (made.clamd.reply = 'stream: O'), 'clamd'],
    ['clamd never replies', () => (made.clamd.reply = 'hang'), 'clamd'],
  ]
  for (const [fault, make, rule] of FAULTS) {
    test(`is stored without a verdict, with the reason, when ${fault}`, async () => {
      good()
      make()
      const message = await receive('x'.repeat(300_000))
      assert.deepEqual([message.verdict, message.category], [null, 'personal'])
      assert.equal(message.spamScore, rule === 'rspamd' ? null : 0.1)
      assert.deepEqual(
        message.categoryReasons.map((reason) => reason.rule),
        [rule],
      )
      assert.match(message.categoryReasons[0]?.detail ?? '', /^not available: ./)
    })
  }

  test('has the reply of a clamd that refuses a message before it was read', async () => {
    good()
    made.clamd.isEarly = true
    made.clamd.reply = 'INSTREAM size limit exceeded. ERROR\0'
    const message = await receive('x'.repeat(3_000_000))
    assert.equal(message.verdict, null)
  })
})

onEachEngine('mail while both scanners are away', (engine) => {
  test('is stored at once, with both reasons', async () => {
    const env = {
      // A port where nothing listens: below those that are given out.
      MAILROOM_RSPAMD_URL: 'http://127.0.0.1:3',
      MAILROOM_CLAMD_URL: '/nonexistent/clamd.sock',
    }
    const world: World = await openWorld(engine, { env })
    try {
      const inbox = await world.inbox()
      const message = await deliver(world, inbox, plainMail({ to: inbox.address }))
      assert.equal(message.verdict, null)
      assert.equal(message.spamScore, null)
      assert.deepEqual(message.categoryReasons, [
        { rule: 'rspamd', detail: 'not available: ECONNREFUSED' },
        { rule: 'clamd', detail: 'not available: ENOENT' },
      ])
    } finally {
      await world.close()
    }
  })
})
