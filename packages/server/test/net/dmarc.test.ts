import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { Zone } from '#test/peers/dns.ts'
import { makeSigningKey, signMail } from '#test/peers/signed-mail.ts'
import { plainMail, testClock } from '#test/world.ts'
import { type Arrival, openAuthenticateWorld } from './authenticate-world.ts'

const key = makeSigningKey()
const POLICY = { TXT: ['v=DMARC1; p=reject'] }
const SPF = { TXT: ['v=spf1 ip4:192.0.2.1 -all'] }

type Expected = Pick<Authentication, 'verifiedFrom'> & Authentication['dmarc']

const CASES: { name: string; zone: Zone; arrival?: Arrival; expected: Expected }[] = [
  {
    name: 'SPF of the same domain proves the address',
    zone: { 'sender.example': SPF, '_dmarc.sender.example': POLICY },
    expected: proven('sender.example', 'reject'),
  },
  {
    name: 'SPF of a subdomain proves it in the relaxed way',
    zone: { 'bounce.sender.example': SPF, '_dmarc.sender.example': POLICY },
    arrival: { reversePath: 'x@bounce.sender.example' },
    expected: proven('sender.example', 'reject'),
  },
  {
    name: 'SPF of a subdomain does not in the strict way',
    zone: {
      'bounce.sender.example': SPF,
      '_dmarc.sender.example': { TXT: ['v=DMARC1; p=quarantine; aspf=s'] },
    },
    arrival: { reversePath: 'x@bounce.sender.example' },
    expected: failed('sender.example', 'quarantine'),
  },
  {
    name: 'SPF of another domain proves nothing',
    zone: { 'other.example': SPF, '_dmarc.sender.example': POLICY },
    arrival: { reversePath: 'x@other.example' },
    expected: failed('sender.example', 'reject'),
  },
  {
    name: 'the policy for subdomains is that of their organisation',
    zone: { '_dmarc.sender.example': { TXT: ['v=DMARC1; p=none; sp=reject'] } },
    arrival: { raw: plainMail({ from: 'a@deep.sender.example' }), reversePath: 'x@other.example' },
    expected: failed('deep.sender.example', 'reject'),
  },
  ...(
    [
      ['the parent proves a subdomain that alone has a record', '', 'sender.example', true],
      ['not where the record asks for strict alignment', '; aspf=s', 'sender.example', false],
      [
        'not where the record calls the subdomain an organisation',
        '; psd=n',
        'sender.example',
        false,
      ],
      ['not another subdomain', '', 'other.sender.example', false],
      ['not a public suffix', '', 'example', false],
    ] as const
  ).map(([name, tags, by, isProven]) => ({
    name: `where only a subdomain has a record: ${name}`,
    zone: { [by]: SPF, '_dmarc.news.sender.example': { TXT: [`v=DMARC1; p=reject${tags}`] } },
    arrival: { raw: plainMail({ from: 'a@news.sender.example' }), reversePath: `x@${by}` },
    expected: (isProven ? proven : failed)('news.sender.example', 'reject'),
  })),
  {
    name: 'without a record, what is aligned in the relaxed way proves the address',
    zone: { 'bounce.sender.example': SPF },
    arrival: { reversePath: 'x@bounce.sender.example' },
    expected: { result: 'none', policy: null, domain: 'sender.example', verifiedFrom: true },
  },
  {
    name: 'without a record, two domains under one public suffix are strangers',
    zone: { 'other.co.uk': SPF },
    arrival: { raw: plainMail({ from: 'a@sender.co.uk' }), reversePath: 'x@other.co.uk' },
    expected: { result: 'none', policy: null, domain: 'sender.co.uk', verifiedFrom: false },
  },
  {
    name: 'a fault in place of the record leaves it open, and what is of the very domain proves still',
    zone: { 'sender.example': SPF, '_dmarc.sender.example': 'servfail' },
    expected: { result: 'temperror', policy: null, domain: 'sender.example', verifiedFrom: true },
  },
  {
    name: 'a fault of SPF that could have passed is not a failure',
    zone: { 'sender.example': 'servfail', '_dmarc.sender.example': POLICY },
    expected: {
      result: 'temperror',
      policy: 'reject',
      domain: 'sender.example',
      verifiedFrom: false,
    },
  },
  {
    name: 'a fault of SPF that could not have helped is no excuse',
    zone: { 'other.example': 'servfail', '_dmarc.sender.example': POLICY },
    arrival: { reversePath: 'x@other.example' },
    expected: failed('sender.example', 'reject'),
  },
  {
    name: 'two mailboxes in From are never verified',
    zone: { 'sender.example': SPF, '_dmarc.sender.example': POLICY },
    arrival: { raw: plainMail({ from: 'a@sender.example, b@sender.example' }) },
    expected: unclear('sender.example'),
  },
  {
    name: 'two From fields are never verified',
    zone: { 'sender.example': SPF, '_dmarc.sender.example': POLICY },
    arrival: { raw: plainMail({ headers: ['From: b@sender.example'] }) },
    expected: unclear('sender.example'),
  },
  {
    name: 'an address that could be of two domains is never verified',
    zone: { 'sender.example': SPF },
    arrival: { raw: plainMail({ from: '<ceo@bank.example@sender.example>' }) },
    expected: unclear(null),
  },
  {
    name: 'mail without a From address has no domain to ask',
    zone: { 'sender.example': SPF },
    arrival: { raw: 'Subject: none\r\n\r\nText\r\n' },
    expected: { result: 'none', policy: null, domain: null, verifiedFrom: false },
  },
  {
    name: 'the null reverse-path proves by the name of EHLO',
    zone: { 'mail.sender.example': SPF, '_dmarc.sender.example': POLICY },
    arrival: { reversePath: '' },
    expected: proven('sender.example', 'reject'),
  },
  {
    name: 'an international address is asked for by its A-labels',
    zone: {
      'xn--bcher-kva.example': SPF,
      '_dmarc.xn--bcher-kva.example': POLICY,
    },
    arrival: { raw: plainMail({ from: 'a@bücher.example' }), reversePath: 'a@bücher.example' },
    expected: proven('xn--bcher-kva.example', 'reject'),
  },
  {
    name: 'a percent sign in a domain is a percent sign',
    zone: { 'sender.example': SPF, '_dmarc.sender.example': POLICY },
    arrival: { raw: plainMail({ from: 'a@sen%64er.example' }) },
    expected: { result: 'none', policy: null, domain: 'sen%64er.example', verifiedFrom: false },
  },
]

for (const { name, zone, arrival, expected } of CASES) {
  test(`DMARC: ${name}`, async (t) => {
    const { judge } = await openAuthenticateWorld(t, zone)
    const { dmarc, verifiedFrom } = await judge(arrival)
    assert.deepEqual({ ...dmarc, verifiedFrom }, expected)
  })
}

test('DMARC: a signature is aligned in relaxed mode or, if the record asks for it, in strict mode', async (t) => {
  const zone = (tags: string): Zone => ({
    's1._domainkey.mail.sender.example': { TXT: [key.record] },
    '_dmarc.sender.example': { TXT: [`v=DMARC1; p=reject${tags}`] },
  })
  const raw = await signMail(plainMail({}), { key, domain: 'mail.sender.example' })
  const relaxed = await openAuthenticateWorld(t, zone(''))
  const strict = await openAuthenticateWorld(t, zone('; adkim=s'))
  const reversePath = 'x@relay.example'
  assert.equal((await relaxed.judge({ raw, reversePath })).verifiedFrom, true)
  const verdict = await strict.judge({ raw, reversePath })
  assert.deepEqual([verdict.dkim[0]?.result, verdict.dmarc.result], ['pass', 'fail'])
  assert.equal(verdict.verifiedFrom, false)
})

test('DMARC: a key that DNS could not return keeps the message from failing', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    's1._domainkey.sender.example': 'servfail',
    '_dmarc.sender.example': POLICY,
  })
  const raw = await signMail(plainMail({}), { key })
  const { dmarc } = await judge({ raw, reversePath: 'x@relay.example' })
  assert.deepEqual([dmarc.result, dmarc.policy], ['temperror', 'reject'])
})

test('DMARC: verdicts follow changes of their records', async (t) => {
  const clock = testClock()
  const zone: Zone = { '_dmarc.sender.example': { TXT: ['v=DMARC1; p=none'], ttlSeconds: 0 } }
  const { judge, dns } = await openAuthenticateWorld(t, zone, clock)
  assert.equal((await judge()).dmarc.policy, 'none')
  dns.zone = { '_dmarc.sender.example': { TXT: ['v=DMARC1; p=reject'], ttlSeconds: 0 } }
  clock.advance(5_000)
  assert.equal((await judge()).dmarc.policy, 'reject')
})

test('all results are known within five seconds, even if DNS is silent', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    'sender.example': 'silent',
    's1._domainkey.sender.example': 'silent',
    '_dmarc.sender.example': 'silent',
  })
  const raw = await signMail(plainMail({}), { key })
  const startMs = performance.now()
  const { spf, dkim, dmarc, verifiedFrom } = await judge({ raw })
  const tookMs = performance.now() - startMs
  assert.ok(tookMs < 12_000, `took ${tookMs} ms`)
  assert.deepEqual([spf.result, dkim[0]?.result, dmarc.result], Array(3).fill('temperror'))
  assert.equal(verifiedFrom, false)
})

test('a message with an unreadable author still gets results', async (t) => {
  const { authenticator } = await openAuthenticateWorld(t, { 'sender.example': SPF })
  const verdict = await authenticator.authenticate({
    raw: Buffer.from(plainMail({})),
    clientAddress: '192.0.2.1',
    helo: null,
    reversePath: 'a@sender.example',
    author: Promise.reject(new Error('not parsed')),
  })
  assert.deepEqual([verdict.spf.result, verdict.dmarc.result], ['pass', 'none'])
})

function proven(domain: string, policy: Expected['policy']): Expected {
  return { result: 'pass', policy, domain, verifiedFrom: true }
}

function failed(domain: string, policy: Expected['policy']): Expected {
  return { result: 'fail', policy, domain, verifiedFrom: false }
}

function unclear(domain: string | null): Expected {
  return { result: 'permerror', policy: null, domain, verifiedFrom: false }
}
