import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { countRows } from '#test/scenarios/deliver.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  fieldNamesOf,
  openSendingTenant,
  PLAIN,
  readMail,
  send,
} from '#test/scenarios/sending-world.ts'
import { onAnyEngine, opened, plainMail } from '#test/world.ts'

const LINE_ENDS: Record<string, string> = {
  'CR LF': '\r\n',
  LF: '\n',
  CR: '\r',
  'U+2028': '\u2028',
  NUL: '\0',
  'U+0085': '\u0085',
}

const file = { filename: 'a.txt', contentType: 'text/plain', data: 'aGk=' }

/** The inputs of a caller that end up near a header, an envelope or a part. */
const FIELDS: Record<string, (evil: string) => Partial<MessageToSend>> = {
  subject: (evil) => ({ subject: `A subject${evil}` }),
  replyTo: (evil) => ({ replyTo: `desk@friend.example${evil}` }),
  to: (evil) => ({ to: `bob@friend.example${evil}` }),
  cc: (evil) => ({ cc: ['ann@friend.example', `cid@friend.example${evil}`] }),
  filename: (evil) => ({ attachments: [{ ...file, filename: `a.txt${evil}` }] }),
  contentType: (evil) => ({ attachments: [{ ...file, contentType: `text/plain${evil}` }] }),
  threadId: (evil) => ({ threadId: `thr_01h455vb4pex5vsknk084sn02q${evil}` }),
  body: (evil) => ({ body: `A body.${evil}` }),
}

const BAD_ADDRESSES = [
  '',
  ' ',
  'bob',
  'bob@',
  '@friend.example',
  'bob@@friend.example',
  'bob@friend@example',
  'bob@friend.example,eve@evil.example',
  'bob@friend.example;eve@evil.example',
  'bob@friend.example eve@evil.example',
  'Bob <bob@friend.example>, eve@evil.example',
  'Bob <bob@friend.example> <eve@evil.example>',
  'Bob <<bob@friend.example>>',
  'Bob\r\nBcc: eve@evil.example <bob@friend.example>',
  'eve@evil.example, Bob <bob@friend.example>',
  'Bob <bob@friend.example> SIZE=1',
  'group: bob@friend.example;',
  'bob@friend.example (Bob)',
  '@relay.example:bob@friend.example',
  ' bob@friend.example',
  'bob@friend.example ',
  'bob @friend.example',
  'bo\tb@friend.example',
  'bob@friend..example',
  'bob@.friend.example',
  'bob@-friend.example',
  'bob@friend!.example',
  '.bob@friend.example',
  'bob.@friend.example',
  'bo..b@friend.example',
  'bob@friend.example>\r\nRCPT TO:<eve@evil.example',
  'bob@friend.example> SIZE=1',
  `${'x'.repeat(256)}@friend.example`,
  `bob@${'x'.repeat(64)}.example`,
  `bob@${'label.'.repeat(43)}example`,
  'mailto:bob@friend.example?cc=eve@evil.example',
  'bob@friend.example\u202e',
  'bob\u200b@friend.example\u0000',
  '"bob@friend.example',
]

onAnyEngine('injection into sent mail', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  /** Names of the fields of an ordinary message. */
  let allowed: Set<string>
  before(async () => {
    const { raw } = await arrived(world, await send(world, await world.inbox()))
    allowed = new Set([...fieldNamesOf(raw), 'cc', 'reply-to', 'in-reply-to', 'references'])
  })

  for (const [field, change] of Object.entries(FIELDS)) {
    test(`${field} cannot add a field or a recipient`, async () => {
      const inbox = await world.inbox()
      const tries = Object.entries(LINE_ENDS).map(async ([name, lineEnd]) => {
        const evil = `${lineEnd}X-Evil: 1${lineEnd}Bcc: eve@evil.example`
        const fields = { ...PLAIN, ...change(evil) }
        const sent = await send(world, inbox, fields).catch((error: { status?: number }) => {
          assert.ok(error.status === 400 || (field === 'threadId' && error.status === 404), name)
          return null
        })
        if (sent === null) return
        const { raw, recipients } = await arrived(world, sent)
        assert.deepEqual([...recipients].sort(), [...(fields.cc ?? []), fields.to].sort())
        for (const one of fieldNamesOf(raw)) assert.ok(allowed.has(one), `${one} by ${name}`)
        const { headers } = await readMail(raw)
        assert.ok(
          headers.every(({ key }) => allowed.has(key)),
          name,
        )
        assert.doesNotMatch(raw.subarray(0, raw.indexOf('\r\n\r\n')).toString(), /^x-evil/im)
      })
      await Promise.all(tries)
      assert.ok(world.mta.commands.every(({ line }) => !line.includes('evil')))
    })
  }

  test('a display name or a client id cannot add a field', async () => {
    for (const lineEnd of Object.values(LINE_ENDS)) {
      const displayName = `Ada${lineEnd}X-Evil: 1`
      assert.equal(await refusal(world.client.inboxes.create({ displayName })), '400 bad_request')
      const clientId = `pod${lineEnd}X-Evil: 1`
      assert.equal(await refusal(world.client.pods.create({ clientId })), '400 bad_request')
    }
  })

  test('received text cannot add a field to the reply', async () => {
    const inbox = await world.inbox()
    const hostile = [
      ['Subject: =?UTF-8?Q?Hi=0D=0AX-Evil:_1=0D=0ABcc:_eve@evil.example?='],
      ['Subject: =?UTF-8?B?SGkKWC1FdmlsOiAx?='],
      ['Subject: Hi', 'References: <a@x> <b\x0bX-Evil: 1@x> <c@x>'],
      ['Subject: Hi\u2028X-Evil: 1'],
    ]
    for (const [index, headers] of hostile.entries()) {
      const raw = [
        'From: =?UTF-8?Q?Ann=0D=0AX-Evil=3A_1?= <ann@friend.example>',
        'To: list@friend.example',
        `Cc: ${inbox.address}`,
        ...headers,
        `Message-ID: <hostile${index}@x>`,
        '',
        'Text',
        '',
      ].join('\r\n')
      assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
      const [message] = (await world.client.messages.list(inbox.id, { limit: 1 }).page()).data
      const { subject: _, ...reply } = PLAIN
      const sent = await send(world, inbox, { ...reply, threadId: message?.threadId ?? '' })
      const left = await arrived(world, sent)
      for (const one of fieldNamesOf(left.raw)) assert.ok(allowed.has(one), one)
      assert.deepEqual([...left.recipients].sort(), ['ann@friend.example', 'bob@friend.example'])
      const { text = '' } = await readMail(left.raw)
      assert.match(text, /^On [^\r\n]+, Ann X-Evil: 1 wrote:$/m)
    }
  })

  test('only a single plain mailbox is accepted in any address field', async () => {
    const inbox = await world.inbox()
    const messages = await countRows(world, 'messages')
    // Earlier messages may still be in transit.
    const busy = "select id from deliveries where queue_state in ('ready', 'leased')"
    await until(async () => (await runSql(world, busy)).length === 0)
    const transactions = () => world.mta.commands.filter(({ line }) => /^MAIL/i.test(line)).length
    const before = transactions()
    for (const address of BAD_ADDRESSES) {
      const tries = [{ to: address }, { cc: ['ann@friend.example', address] }, { replyTo: address }]
      for (const fields of tries) {
        assert.equal(await refusal(send(world, inbox, fields)), '400 bad_request', address)
      }
    }
    assert.equal(await countRows(world, 'messages'), messages)
    assert.equal(transactions(), before)
  })

  test('an unusual but valid address is used unchanged', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address })
    await world.send({ to: inbox.address, raw })
    const good = [
      '"bobsmith"@friend.example',
      "o'brien+tag=1/2@friend.example",
      '"a@b"@friend.example',
      `${'x'.repeat(255)}@friend.example`,
      'Bob@Friend.Example',
    ]
    for (const to of good) {
      const sent = await send(world, inbox, { to })
      const { recipients, raw } = await arrived(world, sent)
      assert.deepEqual(
        recipients.map((one) => one.toLowerCase()),
        [to.toLowerCase()],
      )
      const { to: shown } = await readMail(raw)
      assert.equal(shown?.length, 1)
      assert.equal((await world.client.messages.get(sent.messageId)).toAddr, to)
    }
  })
})
