import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Zone } from '#test/peers/dns.ts'
import {
  makeEdwardsKey,
  makeSigningKey,
  sealByHand,
  sealMail,
  signMail,
} from '#test/peers/signed-mail.ts'
import { plainMail } from '#test/world.ts'
import { openAuthenticateWorld } from './authenticate-world.ts'

const key = makeSigningKey()
const other = makeSigningKey()
const AT = 's1._domainkey.sender.example'
const ZONE: Zone = { [AT]: { TXT: [key.record] } }
const GOOD = { result: 'pass', domain: 'sender.example', selector: 's1' }
const mail = plainMail({ body: 'One line.\r\nAnother  line \r\n' })
const day = 86_400_000

test('a good signature passes, in every canonicalisation', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  for (const canonicalization of ['relaxed/relaxed', 'simple/simple', 'relaxed/simple']) {
    const { dkim } = await judge({ raw: await signMail(mail, { key, canonicalization }) })
    assert.deepEqual(dkim, [GOOD], canonicalization)
  }
})

test('mail without a signature has none', async (t) => {
  const { judge, dns } = await openAuthenticateWorld(t, ZONE)
  const { dkim, arc } = await judge({ raw: mail })
  assert.deepEqual([dkim, arc], [[], { result: 'none' }])
  assert.equal(dns.countAsked(AT), 0)
})

test('a changed body, field or signature fails', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  const signed = (await signMail(mail, { key })).toString()
  for (const [from, to] of [
    ['Another', 'Any other'],
    ['Subject: A', 'Subject: No'],
    ['From: Ann', 'From: Eve'],
  ] as const) {
    const { dkim } = await judge({ raw: signed.replace(from, to) })
    assert.deepEqual(dkim, [{ ...GOOD, result: 'fail' }], from)
  }
})

test('two signatures are reported in their order, each with its own result', async (t) => {
  const edwards = makeEdwardsKey()
  const { judge } = await openAuthenticateWorld(t, {
    ...ZONE,
    'ed._domainkey.list.example': { TXT: [edwards.record] },
  })
  const inner = await signMail(mail, { key: other })
  const signing = {
    key: edwards,
    domain: 'list.example',
    selector: 'ed',
    algorithm: 'ed25519-sha256',
  }
  const { dkim } = await judge({ raw: await signMail(inner, signing) })
  assert.deepEqual(dkim, [
    { result: 'pass', domain: 'list.example', selector: 'ed' },
    { ...GOOD, result: 'fail' },
  ])
})

test('a key that is missing, revoked or unreadable verifies nothing', async (t) => {
  const raw = await signMail(mail, { key })
  const zones: Zone[] = [{}, { [AT]: { TXT: ['v=DKIM1; p='] } }, { [AT]: { TXT: ['p=!!'] } }]
  for (const zone of zones) {
    const { judge } = await openAuthenticateWorld(t, zone)
    assert.deepEqual((await judge({ raw })).dkim, [{ ...GOOD, result: 'neutral' }])
  }
})

test('a key without an answer of DNS is a temperror', async (t) => {
  const { judge } = await openAuthenticateWorld(t, { [AT]: 'servfail' })
  const { dkim } = await judge({ raw: await signMail(mail, { key }) })
  assert.deepEqual(dkim, [{ ...GOOD, result: 'temperror' }])
})

test('of several records under one name the suitable one counts', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    [AT]: { TXT: [makeEdwardsKey().record, key.record] },
  })
  assert.deepEqual((await judge({ raw: await signMail(mail, { key }) })).dkim, [GOOD])
})

test('weak algorithms and short keys are refused by policy', async (t) => {
  const short = makeSigningKey(768)
  const { judge } = await openAuthenticateWorld(t, {
    ...ZONE,
    [`short.${AT.slice(3)}`]: { TXT: [short.record] },
  })
  const weak = await judge({ raw: await signMail(mail, { key, algorithm: 'rsa-sha1' }) })
  assert.deepEqual(weak.dkim, [{ ...GOOD, result: 'policy' }])
  const small = await judge({ raw: await signMail(mail, { key: short, selector: 'short' }) })
  assert.deepEqual(small.dkim, [{ ...GOOD, selector: 'short', result: 'policy' }])
})

test('an expired signature does not pass', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  const times = { signTime: new Date(Date.now() - 3 * day), expires: new Date(Date.now() - day) }
  const { dkim } = await judge({ raw: await signMail(mail, { key, ...times }) })
  assert.deepEqual(dkim, [{ ...GOOD, result: 'neutral' }])
})

test('a signature that does not cover the end of the body is refused by policy once something follows', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  const body = 'One line.\r\n'
  const raw = await signMail(plainMail({ body: body.slice(0, -2) }), {
    key,
    maxBodyLength: body.length,
  })
  assert.deepEqual((await judge({ raw })).dkim, [GOOD])
  const longer = Buffer.concat([raw, Buffer.from('Send money to Eve.\r\n')])
  const { dkim, verifiedFrom } = await judge({ raw: longer })
  assert.deepEqual(dkim, [{ ...GOOD, result: 'policy' }])
  assert.equal(verifiedFrom, false)
})

test('at most ten signatures are checked', async (t) => {
  const { judge, dns } = await openAuthenticateWorld(t, ZONE)
  const field =
    'DKIM-Signature: v=1; a=rsa-sha256; d=flood.example; s=x; h=from; bh=AA==; b=AA==\r\n'
  const raw = Buffer.concat([Buffer.from(field.repeat(200)), await signMail(mail, { key })])
  const { dkim } = await judge({ raw })
  assert.equal(dkim.length, 30)
  assert.deepEqual(new Set(dkim.slice(10).map(({ result }) => result)), new Set(['policy']))
  assert.equal(dkim[0]?.domain, 'flood.example')
  assert.equal(dns.countAsked(AT), 0)
})

test('large signed mail is verified in a thread, which requests keys', async (t) => {
  const { judge, dns } = await openAuthenticateWorld(t, ZONE)
  const large = plainMail({ body: 'A line of a large message.\r\n'.repeat(100_000) })
  const raw = await signMail(large, { key })
  const verdicts = await Promise.all([judge({ raw }), judge({ raw }), judge({ raw: mail })])
  assert.deepEqual(
    verdicts.map(({ dkim }) => dkim),
    [[GOOD], [GOOD], []],
  )
  assert.equal(dns.countAsked(AT), 1)
})

test('a signature in mail with bare line feeds is verified with the line ends it was made for', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  const raw = (await signMail(mail, { key })).toString().replaceAll('\r\n', '\n')
  assert.deepEqual((await judge({ raw })).dkim, [GOOD])
})

test('hostile headers are reported, and never cause an error', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  const signatures = [
    'DKIM-Signature:',
    'DKIM-Signature: ;;;===',
    'DKIM-Signature: v=1; a=rsa-sha256; d=\u0000; s=\u202e; b=x; bh=y; h=from',
    `DKIM-Signature: ${'x'.repeat(100_000)}`,
    'DKIM-Signature: v=1; a=__proto__; d=constructor; s=toString; h=from; b=; bh=',
    'ARC-Seal: i=1; cv=none',
    'ARC-Message-Signature: i=99999999999999999999',
    'dkim-signature\t: v=1\r\n\t; d=x.example',
  ]
  for (const field of signatures) {
    const { dkim } = await judge({ raw: `${field}\r\n${mail}` })
    assert.ok(
      dkim.every(({ result }) => result !== 'pass'),
      field.slice(0, 60),
    )
  }
  const endless = `DKIM-Signature: v=1; d=x.example; s=s\r\nX: ${'y'.repeat(400_000)}\r\n${mail}`
  const { dkim } = await judge({ raw: endless })
  assert.deepEqual(dkim, [{ result: 'policy', domain: 'x.example', selector: 's' }])
  for (const raw of ['', '\r\n', 'no header', '\r\n\r\nbody']) await judge({ raw })
})

test('an ARC chain passes while its message is unchanged, and fails otherwise', async (t) => {
  const zone: Zone = { 's1._domainkey.list.example': { TXT: [key.record] } }
  const { judge, dns } = await openAuthenticateWorld(t, zone)
  const sealed = await sealMail(mail, { key, domain: 'list.example' })
  assert.deepEqual((await judge({ raw: sealed })).arc, { result: 'pass' })
  const changed = sealed.toString().replace('Another', 'Any other')
  assert.deepEqual((await judge({ raw: changed })).arc, { result: 'fail' })
  assert.equal(dns.countAsked('s1._domainkey.list.example'), 1)
  const broken = await openAuthenticateWorld(t, { 's1._domainkey.list.example': 'servfail' })
  assert.deepEqual((await broken.judge({ raw: sealed })).arc, { result: 'temperror' })
})

test('an ARC signature may leave out its canonicalization, and may list no field', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    's1._domainkey.list.example': { TXT: [key.record] },
  })
  for (const seal of [
    { c: 'simple/simple', h: 'from:subject' },
    { h: 'from:subject' },
    { h: 'from:subject', isRelaxed: true },
    { c: 'relaxed/relaxed', h: '', isRelaxed: true },
    { c: 'simple', h: '' },
    { h: '' },
  ]) {
    const sealed = sealByHand(mail, { key, domain: 'list.example', ...seal })
    const name = JSON.stringify(seal)
    assert.deepEqual((await judge({ raw: sealed })).arc, { result: 'pass' }, name)
    const changed = sealed.replace('Another', 'Any other')
    assert.deepEqual((await judge({ raw: changed })).arc, { result: 'fail' }, name)
  }
  const unsigned = { c: 'relaxed/relaxed', h: 'subject', isRelaxed: true }
  const sealed = sealByHand(mail, { key, domain: 'list.example', ...unsigned })
  assert.deepEqual((await judge({ raw: sealed })).arc, { result: 'fail' })
})
