import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { verifyWebhook, WebhookVerificationError } from '@mailroom/sdk/verify-webhook.ts'
import { Webhook } from 'standardwebhooks'

const secretOf = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`
const secret = secretOf('a')
const other = secretOf('b')
const now = 1_800_000_000_000
const event = {
  event: 'message.received',
  event_id: 'evt_1',
  message: { subject: 'Grüße 日本 🎉' },
}
const body = JSON.stringify(event)

type Signing = { at?: number; id?: string; signed?: string; secrets?: string[] }

/** Signed by the library of Standard Webhooks. */
function standard({ at = now, id = 'evt_1', signed = body, secrets = [secret] }: Signing = {}) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(at / 1000),
    'webhook-signature': secrets
      .map((one) => new Webhook(one).sign(id, new Date(at), signed))
      .join(' '),
  }
}

/** Signed by hand. */
function plain({ at = now, signed = body, secrets = [secret] }: Signing = {}) {
  const [newest, previous] = secrets.map((one) =>
    createHmac('sha256', one)
      .update(`${at / 1000}.${signed}`)
      .digest('hex'),
  )
  return {
    'X-Timestamp': String(at / 1000),
    'X-Signature': newest,
    ...(previous === undefined ? {} : { 'X-Signature-Previous': previous }),
  }
}

const conventions = [
  ['Standard Webhooks', standard],
  ['X-Signature', plain],
] as const

function refuses(checked: Promise<unknown>, code: string): Promise<void> {
  return assert.rejects(checked, (error) => {
    assert.ok(error instanceof WebhookVerificationError, String(error))
    assert.equal(error.code, code)
    return true
  })
}

for (const [name, sign] of conventions) {
  test(`${name}: a request signed with the secret gives its event`, async () => {
    const headers = sign()
    for (const raw of [body, new TextEncoder().encode(body), Buffer.from(body)]) {
      assert.deepEqual(await verifyWebhook(raw, headers, secret, { now }), event)
    }
    const lists = Object.entries(headers).map(([key, value]) => [key.toUpperCase(), [value ?? '']])
    assert.deepEqual(await verifyWebhook(body, Object.fromEntries(lists), secret, { now }), event)
    const fetched = new Headers(Object.entries(headers).map(([key, value]) => [key, value ?? '']))
    assert.deepEqual(await verifyWebhook(body, fetched, secret, { now }), event)
  })

  test(`${name}: a changed or otherwise signed request is refused`, async () => {
    const changed = [
      () => verifyWebhook(`${body} `, sign(), secret, { now }),
      () => verifyWebhook(body.replace('received', 'sent'), sign(), secret, { now }),
      () => verifyWebhook('', sign(), secret, { now }),
      () => verifyWebhook(body, sign(), other, { now }),
      () => verifyWebhook(body, sign(), '', { now }),
      () => verifyWebhook(body, sign(), [], { now }),
      () => verifyWebhook(body, sign(), 'whsec_', { now }),
      () =>
        verifyWebhook(body, { ...sign(), ...timeOf(sign({ at: now + 1000 })) }, secret, { now }),
    ]
    for (const check of changed) await refuses(check(), 'wrong_signature')
  })

  test(`${name}: a request that is too old or in the future is refused unless more is tolerated`, async () => {
    for (const seconds of [301, -301, 86_400]) {
      const headers = sign({ at: now - seconds * 1000 })
      await refuses(verifyWebhook(body, headers, secret, { now }), 'too_old')
      const options = { now, toleranceSeconds: Math.abs(seconds) }
      assert.deepEqual(await verifyWebhook(body, headers, secret, options), event)
    }
    assert.deepEqual(await verifyWebhook(body, sign({ at: now - 300_000 }), secret, { now }), event)
    await refuses(verifyWebhook(body, sign(), secret), 'too_old')
    const present = sign({ at: Math.floor(Date.now() / 1000) * 1000 })
    assert.deepEqual(await verifyWebhook(body, present, secret), event)
  })

  test(`${name}: during a rotation either of two secrets is accepted, on either side`, async () => {
    const rotated = sign({ secrets: [other, secret] })
    for (const known of [secret, other, [secret, other], [other], [secretOf('c'), secret]]) {
      assert.deepEqual(await verifyWebhook(body, rotated, known, { now }), event)
    }
    assert.deepEqual(await verifyWebhook(body, sign(), [other, secret], { now }), event)
    await refuses(verifyWebhook(body, rotated, secretOf('c'), { now }), 'wrong_signature')
  })

  test(`${name}: a body that is no JSON gives another error than a wrong signature`, async () => {
    await refuses(verifyWebhook('x', sign({ signed: 'x' }), secret, { now }), 'not_json')
    await refuses(verifyWebhook('x', sign(), secret, { now }), 'wrong_signature')
  })

  test(`${name}: an invalid time is refused`, async () => {
    for (const time of ['', 'x', '-1', '1e9', '1800000000.5', ' 1800000000', '9'.repeat(30)]) {
      const headers = Object.fromEntries(
        Object.entries(sign()).map(([key, value]) => [key, /timestamp/i.test(key) ? time : value]),
      )
      await refuses(verifyWebhook(body, headers, secret, { now }), 'bad_timestamp')
    }
  })
}

function timeOf(headers: Record<string, string | undefined>) {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => /timestamp/i.test(key)))
}

test('a request without a signature is refused', async () => {
  const lacking = [
    {},
    { 'webhook-id': 'evt_1', 'webhook-timestamp': '1800000000' },
    { 'webhook-signature': 'v1,AAAA', 'webhook-timestamp': '1800000000' },
    { 'x-timestamp': '1800000000' },
    { 'x-signature': 'aa', 'x-timestamp': undefined },
    new Headers(),
  ]
  for (const headers of lacking) {
    await refuses(verifyWebhook(body, headers, secret, { now }), 'missing_header')
  }
})

test('a secret that the environment lacks is reported as missing', async () => {
  await refuses(verifyWebhook(body, standard(), undefined, { now }), 'missing_secret')
})

test('signatures of other forms and versions are skipped without an exception', async () => {
  for (const list of [
    '',
    'v1',
    'v1,',
    'v1,***',
    'v2,AAAA',
    'v1a,AAAA',
    `v1,${'A'.repeat(10_000)}`,
  ]) {
    const headers = { ...standard(), 'webhook-signature': list }
    await refuses(verifyWebhook(body, headers, secret, { now }), 'wrong_signature')
    const signature = standard()['webhook-signature']
    const among = { ...headers, 'webhook-signature': `${list} ${signature}` }
    assert.deepEqual(await verifyWebhook(body, among, secret, { now }), event)
  }
  for (const text of ['', 'zz', 'abc', '0', 'é'.repeat(64)]) {
    const headers = { ...plain(), 'X-Signature': text }
    await refuses(verifyWebhook(body, headers, secret, { now }), 'wrong_signature')
  }
})

test('whatever arrives, nothing but its own error is thrown', async () => {
  const odd: unknown[] = [
    undefined,
    null,
    '',
    0,
    7n,
    true,
    [],
    [[]],
    [null],
    {},
    '\ud800',
    '\udcff',
  ]
  odd.push(new Date(Number.NaN), Symbol('x'), () => {}, new ArrayBuffer(8), 'f'.repeat(500_000))
  for (const value of odd) {
    for (const name of Object.keys({ ...standard(), ...plain() })) {
      const headers = { ...(name.startsWith('X') ? plain() : standard()), [name]: value }
      await refusesAny(verifyWebhook(body, headers as never, secret, { now }))
    }
    await refusesAny(verifyWebhook(body, value as never, secret, { now }))
    await refusesAny(verifyWebhook(value as never, standard(), secret, { now }))
    await refusesAny(verifyWebhook(body, standard(), value as never, { now }))
  }
})

async function refusesAny(checked: Promise<unknown>): Promise<void> {
  await assert.rejects(checked, { name: 'WebhookVerificationError' })
}

test('with both conventions present, the one that signs the id counts', async () => {
  const both = { ...plain(), ...standard() }
  assert.deepEqual(await verifyWebhook(body, both, secret, { now }), event)
  const wrong = { ...both, 'webhook-id': 'evt_2' }
  await refuses(verifyWebhook(body, wrong, secret, { now }), 'wrong_signature')
})

/** Signed by the library of Standard Webhooks and by hand; the Python client is tested with the same. */
const vectors: {
  name: string
  body: string
  headers: Record<string, string>
  secrets: string[]
  now: number
  toleranceSeconds?: number
  outcome: string
}[] = JSON.parse(readFileSync(new URL('./webhook-vectors.json', import.meta.url), 'utf8'))

test('the recorded requests are judged as recorded', async () => {
  for (const { name, headers, secrets, outcome, now: seconds, ...vector } of vectors) {
    const { toleranceSeconds = 300 } = vector
    const options = { now: seconds * 1000, toleranceSeconds }
    const checked = verifyWebhook(vector.body, headers, secrets, options)
    const known = await checked.then(
      (one) => (one.event_id === 'evt_1' ? 'event' : one.event_id),
      (error) => error.code,
    )
    assert.equal(known, outcome, name)
  }
})
