import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Zone } from '#test/peers/dns.ts'
import { makeSigningKey, signMail } from '#test/peers/signed-mail.ts'
import { plainMail } from '#test/world.ts'
import { openAuthenticateWorld } from './authenticate-world.ts'

const key = makeSigningKey()
const KEY = { 's1._domainkey.sender.example': { TXT: [key.record] } }
const POLICY = { TXT: ['v=DMARC1; p=reject'] }
const SPF = { TXT: ['v=spf1 ip4:192.0.2.1 -all'] }
const ZONE: Zone = { ...KEY, '_dmarc.sender.example': POLICY }
const CEO = 'From: The CEO <ceo@sender.example>\r\n'
/** Outside the domain, so that only the signature authenticates it. */
const reversePath = 'x@relay.example'

const good = (await signMail(plainMail({}), { key })).toString('latin1')

const HIDDEN = {
  'a colon on the next line': CEO + good.replace(/^From: /m, 'From\r\n : '),
  'a colon at the start of the next line': CEO + good.replace(/^From: /m, 'From\r\n: '),
  'a colon behind two folds': good.replace(/^From: /m, `From\r\n \r\n : ceo@sender.example\r\n$&`),
  'as many fields as are read between': `${CEO}${'X: y\r\n'.repeat(999)}${good}`,
  'more octets than are read between': `${CEO}X: ${'y'.repeat(260 * 1024)}\r\n${good}`,
}

for (const [how, raw] of Object.entries(HIDDEN)) {
  test(`a second From hidden by ${how} verifies nobody`, async (t) => {
    const { judge } = await openAuthenticateWorld(t, { ...ZONE, 'sender.example': SPF })
    assert.equal((await judge({ raw: good, reversePath })).verifiedFrom, true)
    const hidden = Buffer.from(raw, 'latin1')
    assert.equal((await judge({ raw: hidden, reversePath })).verifiedFrom, false)
    // Without the signature, only SPF is left.
    const unsigned = Buffer.from(raw.replace(/DKIM-Signature:(?:.*\r\n[ \t])*.*\r\n/, ''), 'latin1')
    const { spf, dkim, verifiedFrom } = await judge({ raw: unsigned })
    assert.deepEqual([spf.result, dkim.length, verifiedFrom], ['pass', 0, false])
  })
}

const IN_FRONT = [
  'Subject: Pay now',
  'To: You <you@inbox.example>',
  'Date: Sat, 21 Nov 2026 10:00:00 +0000',
  'Message-ID: <new@sender.example>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=a',
]

test('a signature proves nothing once one of its fields is repeated above', async (t) => {
  const headers = ['MIME-Version: 1.0', 'Content-Type: text/plain']
  const mail = plainMail({ headers, messageId: '<old@sender.example>' })
  const signed = (await signMail(mail, { key })).toString()
  const { judge } = await openAuthenticateWorld(t, { ...ZONE, 'sender.example': SPF })
  assert.equal((await judge({ raw: signed, reversePath })).verifiedFrom, true)
  for (const field of IN_FRONT) {
    const raw = `${field}\r\n${signed}`
    const { dkim, dmarc, verifiedFrom } = await judge({ raw, reversePath })
    assert.deepEqual(
      [dkim[0]?.result, dmarc.result, verifiedFrom],
      ['pass', 'fail', false],
      field.slice(0, 20),
    )
    assert.equal((await judge({ raw })).verifiedFrom, true, 'SPF is of who sent it')
  }
})

test('a field that a relay adds, or that occurs only once, does not affect a signature', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  for (const field of ['Received: from a by b', 'X-Spam: no', 'List-Id: <a.example>']) {
    const raw = `${field}\r\n${field}\r\n${good}`
    assert.equal((await judge({ raw, reversePath })).verifiedFrom, true, field)
  }
})

test('customers of one host cannot verify as each other, whatever the records of the host', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    '_dmarc.github.io': POLICY,
    'evil.github.io': SPF,
    'mail.victim.github.io': SPF,
  })
  const raw = plainMail({ from: 'boss@victim.github.io' })
  const stranger = await judge({ raw, reversePath: 'x@evil.github.io' })
  assert.deepEqual([stranger.dmarc.result, stranger.verifiedFrom], ['fail', false])
  const own = await judge({ raw, reversePath: 'x@mail.victim.github.io' })
  assert.deepEqual([own.dmarc.result, own.verifiedFrom], ['pass', true])
})

const junk = (domain: string, selector: string) =>
  `DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; d=${domain}; s=${selector}; h=from;\r\n` +
  ` bh=uoq1oCgLlTqpdDX/iUbLy7J1Wic=; b=AAAA\r\n`

/** With the right body hash, so that its key is queried. */
async function bodyJunk(domain: string, selector: string): Promise<string> {
  const signed = (await signMail(plainMail({}), { key, domain, selector })).toString()
  return signed.slice(0, signed.length - plainMail({}).length)
}

test('missing keys of other signatures are no excuse, and do not delay a good signature', async (t) => {
  const zone: Zone = { ...ZONE }
  for (const at of [0, 1, 2]) zone[`k${at}._domainkey.evil.example`] = 'silent'
  const { judge } = await openAuthenticateWorld(t, zone)
  const slow = await Promise.all([0, 1, 2].map((at) => bodyJunk('evil.example', `k${at}`)))
  const none = await bodyJunk('sender.example', 'none')
  const [spoofed, genuine] = await Promise.all([
    judge({ raw: slow.join('') + none + plainMail({}), reversePath }),
    judge({ raw: slow.join('') + good, reversePath }),
  ])
  assert.deepEqual(
    spoofed.dkim.map(({ result }) => result),
    ['temperror', 'temperror', 'temperror', 'neutral'],
  )
  assert.deepEqual([spoofed.dmarc.result, spoofed.dmarc.policy], ['fail', 'reject'])
  assert.deepEqual([genuine.dkim[3]?.result, genuine.verifiedFrom], ['pass', true])
})

test('a signature without a domain, or too far down the list, is no excuse', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    ...ZONE,
    'broken._domainkey.sender.example': 'servfail',
    'broken._domainkey.flood.example': 'servfail',
  })
  const broken = await bodyJunk('sender.example', 'broken')
  const excused = await judge({ raw: broken + plainMail({}), reversePath })
  assert.equal(excused.dmarc.result, 'temperror')
  const flood = (await bodyJunk('flood.example', 'broken')).repeat(10)
  for (const before of [flood + broken, junk('', 'broken'), flood + junk('', '')]) {
    const { dmarc } = await judge({ raw: before + plainMail({}), reversePath })
    assert.equal(dmarc.result, 'fail')
  }
})
