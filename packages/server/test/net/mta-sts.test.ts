// MTA-STS (RFC 8461): parsing, fetching and keeping policies, and their effect on routes.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isHostInPolicy, parseStsPolicy, readStsId } from '@mailroom/mail/mta-sts.ts'
import { type FetchPolicyOptions, makeFetchPolicy } from '#delivery/find-route.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { openDns, type Zone } from '#test/peers/dns.ts'
import { openPolicyHost, serve } from './policy-host.ts'
import { hostsOf, mx, openRouteWorld, outcomeOf } from './route-world.ts'

const A = ['1.1.1.1']
const ENFORCE = policyText('enforce', 'mx.example.com', '*.backup.example')

function policyText(mode: string, ...patterns: string[]): string {
  const hosts = patterns.map((pattern) => `mx: ${pattern}`)
  return ['version: STSv1', `mode: ${mode}`, ...hosts, 'max_age: 86400', ''].join('\r\n')
}

test('the id is read from the only record of this version', () => {
  assert.equal(readStsId(['v=spf1', 'v=STSv1; id=20260101T000000Z;']), '20260101T000000Z')
  assert.equal(readStsId(['v=STSv1;  other=x ; id=a1']), 'a1')
  for (const texts of [
    [],
    ['v=spf1'],
    ['v=STSv1; id=a', 'v=STSv1; id=b'],
    ['v=STSv1'],
    ['v=STSv1; id='],
    ['v=STSv1; id=a_b'],
    [`v=STSv1; id=${'a'.repeat(33)}`],
    [' v=STSv1; id=a'],
    ['v=STSv10; id=a'],
  ]) {
    assert.equal(readStsId(texts), null, texts.join(' | '))
  }
})

test('a policy is parsed line by line, and refused if a required field is missing', () => {
  assert.deepEqual(parseStsPolicy(ENFORCE), {
    mode: 'enforce',
    maxAgeSeconds: 86_400,
    patterns: ['mx.example.com', '*.backup.example'],
  })
  const doubled =
    'version: STSv1\nmode: testing\nmode: enforce\nnew: x\nmx: A.Example.\nmax_age:9999999999'
  assert.deepEqual(parseStsPolicy(doubled), {
    mode: 'testing',
    maxAgeSeconds: 31_557_600,
    patterns: ['a.example'],
  })
  assert.equal(parseStsPolicy('version: STSv1\nmode: none\nmax_age: 60')?.mode, 'none')
  for (const wrong of [
    '',
    '<html>',
    ENFORCE.replace('STSv1', 'STSv2'),
    ENFORCE.replace('enforce', 'force'),
    ENFORCE.replace('86400', '-1'),
    ENFORCE.replace('86400', '1e9'),
    ENFORCE.replace('max_age', 'age'),
    policyText('enforce'),
    policyText('enforce', '*'),
    policyText('enforce', 'mx.*.example'),
    policyText('enforce', ...Array.from({ length: 101 }, (_, index) => `mx${index}.example`)),
  ]) {
    assert.equal(parseStsPolicy(wrong), null, wrong)
  }
})

test('a wildcard matches exactly one label', () => {
  const policy = parseStsPolicy(policyText('enforce', 'mx.example', '*.example.com'))
  const isIn = (host: string) => policy !== null && isHostInPolicy(policy, host)
  for (const host of ['mx.example', 'a.example.com']) assert.ok(isIn(host), host)
  for (const host of [
    'a.mx.example',
    'example.com',
    'a.b.example.com',
    'example',
    'aexample.com',
  ]) {
    assert.ok(!isIn(host), host)
  }
})

async function openFetch(t: TestContext, options: Partial<FetchPolicyOptions> = {}, zone?: Zone) {
  const host = await openPolicyHost(t, 'mta-sts.example.com')
  const name = { A: ['127.0.0.1'] }
  const dns = await openDns(zone ?? { 'mta-sts.example.com': name, 'mta-sts.other.example': name })
  const resolver = openResolver({ servers: [dns.server], timeoutMs: 1_000 })
  t.after(() => dns.close())
  const fetchPolicy = makeFetchPolicy({
    resolver,
    allowPrivate: true,
    signal: new AbortController().signal,
    port: host.port,
    ca: host.ca,
    timeoutMs: 2_000,
    ...options,
  })
  return { host, fetchPolicy }
}

test('a policy is fetched by HTTPS from its well-known path', async (t) => {
  const { host, fetchPolicy } = await openFetch(t)
  host.answer = serve(ENFORCE)
  assert.deepEqual(await fetchPolicy('example.com'), { kind: 'text', text: ENFORCE })
  assert.deepEqual(host.requests, [`mta-sts.example.com:${host.port} /.well-known/mta-sts.txt`])
})

test('only a plain answer of the right host is a policy', async (t) => {
  const { host, fetchPolicy } = await openFetch(t)
  const plain = { 'content-type': 'text/plain; charset=utf-8' }
  for (const [what, answer] of Object.entries<typeof host.answer>({
    'status 302': (response) => response.writeHead(302, { location: '/policy', ...plain }).end(),
    'status 404': (response) => response.writeHead(404, plain).end(ENFORCE),
    'not text/plain': (response) =>
      response.writeHead(200, { 'content-type': 'text/plainer' }).end(ENFORCE),
    'too large': (response) => response.writeHead(200, plain).end(Buffer.alloc(65_537, 10)),
    ECONNRESET: (_, request) => request.socket.destroy(),
    // Half an answer, then nothing.
    ABORT_ERR: (response) => response.writeHead(200, plain).write(ENFORCE),
  })) {
    host.answer = answer
    assert.deepEqual(await fetchPolicy('example.com'), {
      kind: 'fault',
      text: `MTA-STS policy: ${what}`,
    })
  }
  assert.equal(host.requests.length, 6, 'no redirect is followed')
  const other = await fetchPolicy('other.example')
  assert.match(other.kind === 'fault' ? other.text : '', /ALTNAME_INVALID/)
  assert.equal(host.requests.length, 6)
})

test('a policy host with an untrusted certificate or a private address is not asked', async (t) => {
  const unknown = await openFetch(t, { ca: '' })
  const untrusted = await unknown.fetchPolicy('example.com')
  assert.match(untrusted.kind === 'fault' ? untrusted.text : '', /SELF_SIGNED|UNABLE_TO/)
  const guarded = await openFetch(t, { allowPrivate: false })
  const forbidden = await guarded.fetchPolicy('example.com')
  assert.match(forbidden.kind === 'fault' ? forbidden.text : '', /EFORBIDDENADDRESS/)
  assert.deepEqual([...unknown.host.requests, ...guarded.host.requests], [])
})

const ZONE: Zone = {
  'example.com': { MX: mx('evil.example', 'mx.example.com', 'a.backup.example') },
  '_mta-sts.example.com': { TXT: ['v=STSv1; id=one'] },
  'evil.example': { A },
  'mx.example.com': { A },
  'a.backup.example': { A },
}

test('an enforced policy leaves only its own hosts, with a verified certificate', async (t) => {
  const { find } = await openRouteWorld(t, ZONE, {
    fetchPolicy: async () => ({ kind: 'text', text: ENFORCE }),
  })
  const tls = hostsOf(await find('example.com')).map((host) => host.tls)
  assert.deepEqual(tls, [
    { kind: 'verified', servername: 'mx.example.com' },
    { kind: 'verified', servername: 'a.backup.example' },
  ])
})

test('mail is deferred if an enforced policy names none of the hosts', async (t) => {
  const { find } = await openRouteWorld(t, ZONE, {
    fetchPolicy: async () => ({ kind: 'text', text: policyText('enforce', 'other.example') }),
  })
  assert.equal(outcomeOf(await find('example.com')), 'deferred')
})

test('without a record, or with a policy that is not enforced or not available, hosts are unchanged', async (t) => {
  const texts = [policyText('testing', 'x.example'), policyText('none'), '<html>', null]
  for (const text of texts) {
    const { find } = await openRouteWorld(t, ZONE, {
      fetchPolicy: async () => {
        if (text === null) throw new Error('unexpected')
        return { kind: 'text', text }
      },
    })
    const hosts = hostsOf(await find('example.com'))
    assert.deepEqual([hosts.length, hosts[0]?.tls.kind], [3, 'opportunistic'], `${text}`)
  }
  let fetches = 0
  const without = await openRouteWorld(
    t,
    { 'example.com': { A } },
    {
      fetchPolicy: async () => {
        fetches += 1
        return { kind: 'text', text: ENFORCE }
      },
    },
  )
  assert.equal(hostsOf(await without.find('example.com'))[0]?.tls.kind, 'opportunistic')
  assert.equal(fetches, 0)
})

test('a policy is kept while its id is the same, fetched again when it changes, and outlives faults', async (t) => {
  const served: (string | null)[] = []
  let fetches = 0
  const { find, dns, pass } = await openRouteWorld(t, ZONE, {
    fetchPolicy: async () => {
      fetches += 1
      const text = served.shift() ?? null
      return text === null ? { kind: 'fault', text: 'away' } : { kind: 'text', text }
    },
  })
  const findAnew = async () => {
    pass(300_000)
    return hostsOf(await find('example.com')).length
  }
  const setRecord = (record: Zone[string]) => {
    dns.zone = { ...dns.zone, '_mta-sts.example.com': record }
  }
  served.push(ENFORCE)
  assert.deepEqual([await findAnew(), await findAnew(), fetches], [2, 2, 1], 'same id')
  setRecord('servfail')
  assert.deepEqual([await findAnew(), fetches], [2, 1], 'no word from DNS')
  setRecord('nxdomain')
  assert.deepEqual([await findAnew(), fetches], [2, 1], 'a record gone')
  setRecord({ TXT: ['v=STSv1; id=two'] })
  assert.deepEqual([await findAnew(), fetches], [2, 2], 'a new one that cannot be had')
  served.push(policyText('enforce', 'evil.example'))
  assert.deepEqual([await findAnew(), fetches], [1, 3], 'a new one')
  pass(86_400_000)
  setRecord('nxdomain')
  assert.deepEqual([await findAnew(), fetches], [3, 3], 'expired')
})

test('a policy that cannot be fetched is not requested for every mail', async (t) => {
  let fetches = 0
  const { find, pass } = await openRouteWorld(
    t,
    { ...ZONE, 'example.com': { A, ttlSeconds: 10 } },
    {
      fetchPolicy: async () => {
        fetches += 1
        return { kind: 'fault', text: 'away' }
      },
    },
  )
  for (let round = 0; round < 31; round++) {
    await find('example.com')
    pass(10_000)
  }
  assert.equal(fetches, 2)
})

test('DANE has precedence over MTA-STS, except where it requires less', async (t) => {
  const isAuthenticated = true
  const record = { usage: 3, selector: 1, matchingType: 1, data: new Uint8Array(32) }
  const { find } = await openRouteWorld(
    t,
    {
      ...ZONE,
      'example.com': { MX: mx('mx.example.com', 'a.backup.example'), isAuthenticated },
      'mx.example.com': { A, isAuthenticated },
      'a.backup.example': { A, isAuthenticated },
      '_25._tcp.mx.example.com': { TLSA: [record], isAuthenticated },
      '_25._tcp.a.backup.example': { TLSA: [{ ...record, usage: 1 }], isAuthenticated },
    },
    { fetchPolicy: async () => ({ kind: 'text', text: ENFORCE }) },
  )
  const kinds = hostsOf(await find('example.com')).map((host) => host.tls.kind)
  assert.deepEqual(kinds, ['dane', 'verified'])
})

test('a router fetches policies itself, through its own resolver and guard', async (t) => {
  const { find, dns } = await openRouteWorld(
    t,
    { ...ZONE, 'mta-sts.example.com': { A: ['127.0.0.1'] } },
    { fetchPolicy: undefined },
  )
  assert.equal(hostsOf(await find('example.com')).length, 3)
  assert.equal(dns.countAsked('mta-sts.example.com', 'A'), 1)
})
