// A reply to all of a message whose address fields somebody wrote to do harm.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const BOB = 'bob@friend.example'
const many = Array.from({ length: 3_000 }, (_, number) => `p${number}@far.example`).join(', ')

/** Header fields, and whom the reply goes to and copies; or the refusal. `{own}` is the inbox's local part. */
const CASES: [
  name: string,
  headers: string[],
  expected: { to: string[]; cc: string[] } | RegExp,
][] = [
  ['an empty group', ['Cc: undisclosed-recipients:;'], { to: [BOB], cc: [] }],
  [
    'a group of members',
    ['Cc: Team: ann@far.example, Carl <carl@far.example>;, dan@far.example'],
    { to: [BOB], cc: ['ann@far.example', 'Carl <carl@far.example>', 'dan@far.example'] },
  ],
  [
    'names of other alphabets',
    ['Cc: "Jürgen" <jurgen@xn--bcher-kva.example>'],
    { to: [BOB], cc: ['Jürgen <jurgen@xn--bcher-kva.example>'] },
  ],
  [
    'a quoted local part',
    ['Cc: "ann smith"@far.example'],
    { to: [BOB], cc: ['"ann smith"@far.example'] },
  ],
  [
    'one address in several cases',
    [`Cc: ANN@far.example, ann@FAR.example, ${BOB.toUpperCase()}`],
    { to: [BOB], cc: ['ann@FAR.example'] },
  ],
  [
    'the inbox with a tag and in another case',
    ['Cc: {own}+news@mail.example, {OWN}@MAIL.example, ann@far.example'],
    { to: [BOB], cc: ['ann@far.example'] },
  ],
  ['thousands of addresses', [`Cc: ${many}`], /at most 50 are allowed/],
  [
    'a list in Reply-To',
    ['Reply-To: ann@far.example, Team: carl@far.example;'],
    { to: ['ann@far.example', 'carl@far.example'], cc: [] },
  ],
  ['a Reply-To without an address', ['Reply-To: nobody here'], { to: [BOB], cc: [] }],
  ['a Reply-To that is the inbox', ['Reply-To: {OWN}+back@Mail.example'], { to: [BOB], cc: [] }],
  [
    'a Reply-To of the inbox and another address',
    ['Reply-To: {own}@mail.example, desk@friend.example'],
    { to: ['desk@friend.example'], cc: [] },
  ],
  [
    'an encoded word that ends the line',
    ['Cc: =?utf-8?Q?Ann=0D=0ABcc:_eve=40far.example?= <ann@far.example>'],
    { to: [BOB], cc: ['"_eve=40far.example?=" <ann@far.example>'] },
  ],
  [
    'a name that turns the address around',
    ['Cc: =?utf-8?Q?=E2=80=AEAnn?= <ann@far.example>'],
    { to: [BOB], cc: ['ann@far.example'] },
  ],
  [
    'an encoded word as an address',
    ['Cc: =?utf-8?Q?eve=40far.example=0D=0AX:_y?=, ann@far.example'],
    { to: [BOB], cc: ['ann@far.example'] },
  ],
  [
    'what is no address',
    ['Cc: <<>>, @, a@b@c, ann@far.example, "unclosed'],
    { to: [BOB], cc: ['ann@far.example'] },
  ],
]

onEachEngine('a reply to all', (engine) => {
  const world = opened(() => openWorld(engine, { env: { MAILROOM_INBOX_DOMAIN: 'mail.example' } }))

  for (const [name, headers, expected] of CASES) {
    test(`of a message with ${name} has a clear outcome`, async () => {
      const inbox = await world.inbox()
      const own = inbox.address.slice(0, inbox.address.indexOf('@'))
      const filled = headers.map((line) =>
        line.replaceAll('{own}', own).replaceAll('{OWN}', own.toUpperCase()),
      )
      const raw = plainMail({ from: BOB, to: inbox.address, headers: filled })
      const { threadId } = await deliver(world, inbox, raw)
      const sending = world.client.inboxes.send(inbox.id, {
        threadId,
        replyAll: true,
        body: 'Yes.',
      })
      if (expected instanceof RegExp) {
        const error = await refusalOf(sending)
        assert.equal(`${error.status} ${error.code}`, '400 bad_request')
        assert.match(error.message, expected)
        return
      }
      const { messageId } = await sending
      const { to, cc } = await world.client.messages.get(messageId)
      assert.deepEqual({ to, cc }, expected)
      const { content } = await world.client.messages.raw(messageId)
      const [header = ''] = Buffer.from(content).toString('latin1').split('\r\n\r\n')
      assert.doesNotMatch(header, /^(?:bcc|x):/im)
    })
  }
})
