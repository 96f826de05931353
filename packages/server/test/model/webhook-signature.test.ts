import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { verifyWebhook } from '@mailroom/sdk'
import { Webhook } from 'standardwebhooks'
import { systemChance } from '#platform/chance.ts'
import { makeWebhookSecret, signWebhook } from '#webhooks/webhook-secrets.ts'

const body = JSON.stringify({ event: 'message.received', subject: 'Grüße 日本 🎉', nothing: null })
const id = 'evt_01h2xcejqtf2nbrexx3vqjhp41'
const timestamp = Math.floor(Date.now() / 1000)
const newest = makeWebhookSecret(systemChance)
const older = makeWebhookSecret(systemChance)
const oldest = makeWebhookSecret(systemChance)

/** Header names as they are on the wire: in any case. */
const lower = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

test('a secret is 32 random octets after its prefix', () => {
  assert.match(newest, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.notEqual(newest, older)
  const zeros = makeWebhookSecret({ bytes: (length) => new Uint8Array(length) })
  assert.equal(zeros, `whsec_${'A'.repeat(43)}=`)
})

test('the library of Standard Webhooks accepts the request, and refuses a changed one', () => {
  const headers = lower(signWebhook({ id, timestamp, body, secrets: [newest] }))
  assert.deepEqual(new Webhook(newest).verify(body, headers), JSON.parse(body))
  const broken: [string, Record<string, string>, string][] = [
    [body.replace('received', 'sent'), headers, newest],
    [body, { ...headers, 'webhook-id': 'evt_2' }, newest],
    [body, { ...headers, 'webhook-timestamp': String(timestamp + 1) }, newest],
    [body, headers, older],
  ]
  for (const [text, fields, secret] of broken) {
    assert.throws(() => new Webhook(secret).verify(text, fields), /No matching signature/)
  }
  const old = lower(signWebhook({ id, timestamp: timestamp - 301, body, secrets: [newest] }))
  assert.throws(() => new Webhook(newest).verify(body, old), /too old/)
})

test("a few lines of a customer's own code accept it, too", () => {
  const headers = signWebhook({ id, timestamp, body, secrets: [newest] })
  const expected = createHmac('sha256', newest).update(`${timestamp}.${body}`, 'utf8').digest('hex')
  assert.equal(headers['X-Signature'], expected)
  assert.match(expected, /^[0-9a-f]{64}$/)
  assert.equal(headers['X-Timestamp'], String(timestamp))
  assert.equal(headers['X-Event-Id'], id)
  assert.deepEqual(Object.keys(headers).sort(), [
    'X-Event-Id',
    'X-Signature',
    'X-Timestamp',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ])
})

test('the SDK accepts it in either convention', async () => {
  const headers = signWebhook({ id, timestamp, body, secrets: [newest, older] })
  const plain = Object.entries(headers).filter(([name]) => name.startsWith('X-'))
  for (const secret of [newest, older]) {
    assert.deepEqual(await verifyWebhook(body, headers, secret), JSON.parse(body))
    assert.deepEqual(await verifyWebhook(body, Object.fromEntries(plain), secret), JSON.parse(body))
  }
  await assert.rejects(verifyWebhook(body, headers, oldest), { code: 'wrong_signature' })
})

test('during a rotation receivers with the new and with the old secret accept it', () => {
  const signed = signWebhook({ id, timestamp, body, secrets: [newest, older, oldest] })
  const headers = lower(signed)
  for (const secret of [newest, older, oldest]) {
    assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
  }
  assert.equal(signed['webhook-signature']?.split(' ').length, 3)
  const plain = (secret: string) =>
    createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  assert.equal(signed['X-Signature'], plain(newest))
  assert.equal(signed['X-Signature-Previous'], plain(older))
})

test('nothing is signed without a secret', () => {
  assert.throws(() => signWebhook({ id, timestamp, body, secrets: [] }), /without a secret/)
})
