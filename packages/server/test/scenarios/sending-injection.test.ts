import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { refusal } from '#test/scenarios/outcomes.ts'
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
