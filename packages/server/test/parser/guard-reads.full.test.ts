import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, test } from 'node:test'
import { messageOf, multipart, part, textPart } from '@mailroom/mail/test/samples.ts'
import { openParserPool } from '#parser/parser.ts'

const pool = openParserPool()
after(() => pool.close())

const CARD = '4242 4242 4242 4242'
const LINE = 'order 12345 at 10:30 for 49.99 EUR, please answer bob@client.example\r\n'

function mailOf(text: string) {
  const file = { filename: 'a.csv', contentType: 'text/csv', content: Buffer.from(text) }
  return { subject: 'Hello', text: 'Hello', html: '<p>Hello</p>', attachments: [file] }
}

function messageWith(text: string): Uint8Array {
  const file = part(
    text,
    'Content-Type: text/csv',
    'Content-Disposition: attachment; filename=a.csv',
  )
  return messageOf(multipart('mixed', 'b', [textPart('Hello'), file]))
}

test('a thread finds the secrets of a mail, and the addresses that a message tells', async () => {
  assert.deepEqual(await pool.findSecrets(mailOf(`Card ${CARD}`)), [
    {
      kind: 'card_number',
      part: 'attachment:0',
      offset: 5,
      length: CARD.length,
      sha256: hash('sha256', CARD),
    },
  ])
  const addresses = ['bob@client.example', 'eve@attacker.example']
  const raw = messageWith(LINE)
  const octets = Buffer.from(raw)
  assert.deepEqual(await pool.findMentions(raw, { addresses, texts: [] }), ['bob@client.example'])
  assert.deepEqual(Buffer.from(raw), octets)
})

test('a file of 24 MiB is read to its end within the memory of a thread', async () => {
  const text = LINE.repeat((24 * 1024 * 1024) / LINE.length)
  const secrets = await pool.findSecrets(mailOf(`${text}${CARD}\r\n`))
  assert.deepEqual(
    secrets?.map(({ offset }) => offset),
    [text.length],
  )
  const addresses = ['bob@client.example', 'eve@attacker.example']
  const raw = messageWith(`${text}eve at attacker dot example\r\n`)
  assert.deepEqual(await pool.findMentions(raw, { addresses, texts: [] }), addresses)
})

test('what a thread cannot read in its time, or at all, is told apart from nothing found', async () => {
  const impatient = openParserPool({ timeoutMs: 1 })
  const text = LINE.repeat(50_000)
  assert.equal(await impatient.findSecrets(mailOf(text)), null)
  assert.equal(
    await impatient.findMentions(messageWith(text), {
      addresses: ['eve@attacker.example'],
      texts: [],
    }),
    null,
  )
  await impatient.close()
  const much = mailOf('a '.repeat(10 * 1024 * 1024))
  const [file] = much.attachments
  assert.ok(file !== undefined)
  assert.equal(await pool.findSecrets({ ...much, attachments: [file, file] }), null)
})
