import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOMAINS_PER_ACCOUNT_MAX } from '#domains/store/domains.ts'
import type { ZoneName } from '#test/peers/dns.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  openDomainWorld,
  publish,
  recordFor,
  verifiedDomain,
} from '#test/scenarios/domain-world.ts'
import { countOutcomes, outcomeOf, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

onEachEngine('custom domains', (engine) => {
  const world = opened(() => openDomainWorld(engine))
  const ann = prepared(() => world.newAccount())

  const post = (body: object) =>
    world.fetch('/v1/domains', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  test('a new domain is pending and lists the records to publish', async () => {
    const domain = await ann.client.domains.create({ domain: 'Bücher.Example.' })
    assert.match(domain.id, /^dom_[0-9a-z]{26}$/)
    assert.equal(domain.domain, 'xn--bcher-kva.example')
    const { podId, status, verifiedAt, lastCheckedAt } = domain
    assert.deepEqual(
      { podId, status, verifiedAt, lastCheckedAt },
      {
        podId: null,
        status: 'pending',
        verifiedAt: null,
        lastCheckedAt: null,
      },
    )
    const { records } = domain
    assert.deepEqual(
      records.map(({ purpose, required, status }) => `${purpose} ${required} ${status}`),
      [
        'ownership true missing',
        'mx true missing',
        'spf true missing',
        'dkim true missing',
        'dkim true missing',
        'dmarc false missing',
      ],
    )
    for (const { found, hint } of records) {
      assert.deepEqual(found, [])
      assert.match(hint ?? '', /^Publish an? (?:MX|TXT) record at /)
    }
    const priorities = records.map(({ priority }) => priority ?? null)
    assert.deepEqual(priorities, [null, 10, null, null, null, null])
    assert.match(recordFor(domain, 'ownership').value, /^mailroom-verification=[a-z0-9]{32}$/)
    assert.deepEqual(await ann.client.domains.get(domain.id), domain)
  })

  test('two accounts that add one domain get different tokens', async () => {
    const bob = await world.newAccount()
    const [one, other] = await Promise.all([
      ann.client.domains.create({ domain: 'shared.example' }),
      bob.client.domains.create({ domain: 'shared.example' }),
    ])
    assert.notEqual(recordFor(one, 'ownership').value, recordFor(other, 'ownership').value)
    assert.equal(await refusal(bob.client.domains.get(one.id)), '404 not_found')
  })

  test('an account has a domain once, even when it is added twenty times at once', async () => {
    const spellings = ['once.example', 'ONCE.example', 'once.example.', 'ｏｎｃｅ.example']
    const requests = Array.from({ length: 20 }, (_, n) =>
      ann.client.domains.create({ domain: spellings[n % 4] ?? '' }),
    )
    assert.deepEqual(await countOutcomes(requests), { done: 1, '409 domain_taken': 19 })
  })

  test('names that no account can use are refused with the reason', async () => {
    const reasons: Record<string, RegExp> = {
      'co.uk': /^"co\.uk" is a public suffix/,
      '192.0.2.1': /^"192\.0\.2\.1" is an IP address/,
      localhost: /^"localhost" is a single word/,
      'mailroom.localhost': /^"mailroom\.localhost" is the domain of the service itself/,
      'x.mailroom.localhost': /subdomain of the domain of the service/,
      'not a domain': /not a domain name/,
    }
    for (const [domain, reason] of Object.entries(reasons)) {
      const error = await refusalOf(ann.client.domains.create({ domain }))
      assert.equal(`${error.status} ${error.code}`, '400 invalid_domain', domain)
      assert.match(error.message, reason)
    }
  })

  test('a malformed body is refused, and nothing is stored', async () => {
    const before = await world.client.domains.list().page()
    const bodies = [
      {},
      { domain: 1 },
      { domain: null },
      { domain: 'a.example', x: 1 },
      { domain: 'a.example', podId: 3 },
    ]
    for (const body of bodies) assert.equal(await outcomeOf(post(body)), '400 bad_request')
    assert.equal(await outcomeOf(post({ domain: 'a.example', podId: 'nobody' })), '400 invalid_pod')
    assert.equal(await outcomeOf(post({ domain: 'a.example', podId: '' })), '400 invalid_pod')
    assert.equal((await world.client.domains.list().page()).total, before.total)
  })

  test('lists are newest first, and filtered by the pod that a domain is scoped to', async () => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create({ clientId: 'tenant' })
    const wide = await client.domains.create({ domain: 'wide.example' })
    const scoped = await client.domains.create({ domain: 'scoped.example', podId: 'tenant' })
    assert.equal(scoped.podId, pod.id)
    const ids = async (podId?: string) => {
      const { data, total } = await client.domains.list(podId === undefined ? {} : { podId }).page()
      assert.equal(total, data.length)
      return data.map(({ id }) => id)
    }
    assert.deepEqual(await ids(), [scoped.id, wide.id])
    assert.deepEqual(await ids('tenant'), [scoped.id])
    assert.deepEqual(await ids(pod.id), [scoped.id])
    assert.deepEqual(await ids('nobody'), [])
    const second = await client.domains.list({ limit: 1, offset: 1 }).page()
    assert.deepEqual(
      second.data.map(({ id }) => id),
      [wide.id],
    )
    assert.equal(second.total, 2)

    assert.equal(await refusal(client.pods.delete('tenant')), '409 pod_has_domains')
    const { podId } = await client.domains.update(scoped.id, { podId: null })
    assert.equal(podId, null)
    assert.deepEqual(await ids('tenant'), [])
    await client.domains.update(wide.id, { podId: 'tenant' })
    await client.domains.update(wide.id, { podId: 'tenant' })
    assert.deepEqual(await ids('tenant'), [wide.id])
    await client.domains.delete(wide.id)
    await client.pods.delete('tenant')
  })

  test('a domain is narrowed to a pod only if all its inboxes are in that pod', async () => {
    const { client } = ann
    const pod = await client.pods.create({ clientId: 'narrow' })
    const domain = await verifiedDomain(world, 'narrow.example', ann)
    const inside = await client.inboxes.create({ domain: 'narrow.example', podId: 'narrow' })
    const outside = await client.inboxes.create({ domain: 'narrow.example' })
    const narrow = () => client.domains.update(domain.id, { podId: 'narrow' })
    assert.equal(await refusal(narrow()), '409 domain_in_use')
    assert.equal(await refusal(client.domains.delete(domain.id)), '409 domain_not_empty')
    assert.equal(
      await refusal(client.domains.update(domain.id, { podId: 'no' })),
      '400 invalid_pod',
    )
    await client.inboxes.delete(outside.id)
    assert.equal((await narrow()).podId, pod.id)

    const elsewhere = await refusalOf(client.inboxes.create({ domain: 'narrow.example' }))
    assert.equal(elsewhere.code, 'invalid_domain')
    assert.match(elsewhere.message, /only be used by another pod/)
    await client.inboxes.create({ domain: 'narrow.example', podId: pod.id })
    assert.equal(await refusal(client.domains.delete(domain.id)), '409 domain_not_empty')
    for (const { id } of (await client.inboxes.list({ podId: pod.id }).page()).data) {
      await client.inboxes.delete(id)
    }
    await client.domains.delete(domain.id)
    assert.equal(await refusal(client.domains.delete(domain.id)), '404 not_found')
    await client.pods.delete('narrow')
    assert.equal(inside.address.endsWith('@narrow.example'), true)
  })

  test('concurrent changes of inboxes and scopes end consistently', async () => {
    const { client } = ann
    const pod = await client.pods.create({ clientId: 'race' })
    const domain = await verifiedDomain(world, 'race.example', ann)
    await countOutcomes([
      ...Array.from({ length: 8 }, () => client.inboxes.create({ domain: 'race.example' })),
      client.domains.update(domain.id, { podId: pod.id }),
      client.domains.delete(domain.id),
      ...Array.from({ length: 8 }, () =>
        client.inboxes.create({ domain: 'race.example', podId: pod.id }),
      ),
    ])
    const inboxes = (await client.inboxes.list({ limit: 100 }).page()).data.filter(({ address }) =>
      address.endsWith('@race.example'),
    )
    const kept = await client.domains.get(domain.id).catch(() => null)
    if (kept === null) assert.equal(inboxes.length, 0)
    const scope = kept?.podId ?? null
    assert.ok(scope === null || inboxes.every(({ podId }) => podId === scope))
    const [row] = await runSql(
      world,
      `select inbox_count from domains where domain = 'race.example'`,
    )
    if (kept !== null) assert.equal(Number(row?.inbox_count), inboxes.length)
  })

  test('an inbox needs a verified domain of its own account', async () => {
    const { client } = ann
    const domain = await verifiedDomain(world, 'inboxes.example', ann)
    await client.domains.create({ domain: 'waiting.example' })
    const make = (name: string) => client.inboxes.create({ domain: name, mailboxName: 'hello' })
    assert.equal((await make('Inboxes.EXAMPLE.')).address, 'hello@inboxes.example')
    assert.equal(await refusal(make('inboxes.example')), '409 address_taken')
    const reasons: [() => Promise<unknown>, RegExp][] = [
      [() => make('waiting.example'), /pending/],
      [() => make('unheard.example'), /not a domain of this account/],
      [() => make('not a domain'), /not a domain name/],
      [() => make(''), /empty/],
      [() => world.client.inboxes.create({ domain: 'inboxes.example' }), /another account/],
      [
        () => world.client.inboxes.create({ domain: 'waiting.example' }),
        /not a domain of this account/,
      ],
    ]
    for (const [run, reason] of reasons) {
      const error = await refusalOf(run())
      assert.equal(`${error.status} ${error.code}`, '400 invalid_domain')
      assert.match(error.message, reason)
    }
    const wrong = { domain: 'unheard.example', mailboxName: 'X' }
    assert.equal(await refusal(client.inboxes.create(wrong)), '400 invalid_mailbox_name')
    for (const own of ['mailroom.localhost', 'MAILROOM.localhost', 'Mailroom.Localhost.']) {
      const { address } = await client.inboxes.create({ domain: own })
      assert.match(address, /@mailroom\.localhost$/)
    }
    const unknownPod = { domain: 'inboxes.example', podId: 'nobody' }
    assert.equal(await refusal(client.inboxes.create(unknownPod)), '400 invalid_pod')
    const { records } = await client.domains.get(domain.id)
    assert.ok(records.every(({ status }) => status === 'valid'))
  })

  test('names reserved on the service’s domain are free on a custom domain', async () => {
    await verifiedDomain(world, 'names.example', ann)
    for (const mailboxName of ['postmaster', 'abuse', 'noreply', 'bounces']) {
      const made = await ann.client.inboxes.create({ mailboxName, domain: 'names.example' })
      assert.equal(made.address, `${mailboxName}@names.example`)
      assert.equal(await refusal(ann.client.inboxes.create({ mailboxName })), '409 address_taken')
    }
  })

  test('a domain with the records of its zone file verifies', async () => {
    const domain = await ann.client.domains.create({ domain: 'zone.example' })
    const response = await world.fetch(`/v1/domains/${domain.id}/zone-file`, {
      headers: { authorization: `Bearer ${ann.key}` },
    })
    assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
    assert.match(response.headers.get('content-disposition') ?? '', /zone\.example\.zone/)
    const text = await response.text()
    assert.equal(await ann.client.domains.zoneFile(domain.id), text)
    assert.equal(text.trimEnd().split('\n').length, domain.records.length)
    for (const [name, entry] of Object.entries(readZone(text))) world.dns.zone[name] = entry
    const verified = await ann.client.domains.verify(domain.id)
    assert.equal(verified.status, 'verified')
    assert.ok(verified.records.every(({ status }) => status === 'valid'))
  })

  test('its keys have their own names in DNS, and a foreign key beside one is reported', async () => {
    const bob = await world.newAccount()
    const name = 'selectors.example'
    const [anns, bobs] = [
      await ann.client.domains.create({ domain: name }),
      await bob.client.domains.create({ domain: name }),
    ]
    const selectors = [anns, bobs].map(({ records }) =>
      records.filter(({ purpose }) => purpose === 'dkim').map((record) => record.name),
    )
    for (const pair of selectors) {
      const [, end] =
        /^mr1-([a-z0-9]{6})\._domainkey\.selectors\.example$/.exec(pair[0] ?? '') ?? []
      assert.deepEqual(pair.slice(1), [`mr2-${end}._domainkey.${name}`])
    }
    assert.equal(new Set(selectors.flat()).size, 4)
    publish(world.dns, bobs)
    publish(world.dns, anns)
    assert.equal((await ann.client.domains.verify(anns.id)).status, 'verified')
    const [first = ''] = selectors[0] ?? []
    const { value } = recordFor(anns, 'dkim')
    world.dns.zone[first] = { TXT: [value.match(/.{1,255}/g) ?? [], 'v=DKIM1; k=rsa; p=AAAA'] }
    const { records, status } = await ann.client.domains.verify(anns.id)
    assert.equal(status, 'degraded')
    const record = records.find((one) => one.name === first)
    assert.equal(record?.status, 'invalid')
    assert.match(record?.hint ?? '', /^Remove the other records/)
  })

  test('an account has a limited number of domains', async () => {
    const { id, client } = await world.newAccount()
    const fill = `update accounts set domain_count = ${DOMAINS_PER_ACCOUNT_MAX - 1} where id = '${id}'`
    await runSql(world, fill)
    const requests = ['a', 'b', 'c'].map((name) =>
      client.domains.create({ domain: `${name}.limit.example` }),
    )
    assert.deepEqual(await countOutcomes(requests), { done: 1, '422 domain_limit_reached': 2 })
  })
})

/** Lines of RFC 1035 §5.1, each with its full name, as a name server reads them. */
function readZone(text: string): Record<string, ZoneName> {
  const zone: Record<string, ZoneName> = {}
  for (const line of text.trimEnd().split('\n')) {
    const [, name = '', type = '', data = ''] =
      /^(\S+)\.\s+\d+\s+IN\s+(MX|TXT)\s+(.*)$/.exec(line) ?? assert.fail(line)
    const [, preference = '', exchange = ''] = /^(\d+) (\S+)\.$/.exec(data) ?? []
    const strings = Array.from(data.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, inside = '']) => inside)
    assert.ok(strings.every((string) => string.length <= 255))
    const added: ZoneName =
      type === 'MX' ? { MX: [{ exchange, preference: Number(preference) }] } : { TXT: [strings] }
    zone[name] = { ...zone[name], ...added }
  }
  return zone
}
