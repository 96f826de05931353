import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DAY_MS } from '#platform/units.ts'
import { inStrings } from '#test/conformance/dkim-place.ts'
import { type Dns, openDns } from '#test/peers/dns.ts'
import { emptyPlace, type Place, type ServiceProcess } from '#test/scenarios/service-process.ts'
import { onEachEngine } from '#test/world.ts'

onEachEngine('mailroom dkim', (engine) => {
  let place: Place
  let dns: Dns
  let env: Record<string, string>
  let service: ServiceProcess
  before(async () => {
    ;[place, dns] = await Promise.all([emptyPlace(engine), openDns()])
    env = {
      MAILROOM_INBOX_DOMAIN: 'agents.mail-service.dev',
      MAILROOM_DNS_SERVERS: dns.server,
    }
    service = place.start(env)
    await service.ready
  })
  after(async () => {
    await place.remove()
    await dns.close()
  })

  const run = (...args: string[]) => place.commandWith(env, ...args)
  const NAME = 'mr2._domainkey.agents.mail-service.dev'

  test('says that there are no keys before the first is needed', async () => {
    const { code, output } = await run('dkim', 'list')
    assert.equal(code, 0, output)
    assert.match(output, /no keys yet.*mailroom dns/)
  })

  test('does not change to a key that is not in DNS, and prints its record', async () => {
    const { code, output } = await run('dkim', 'rotate')
    assert.equal(code, 1)
    assert.ok(output.includes(NAME), output)
    assert.match(output, /v=DKIM1; k=rsa; p=\S{392}$/m)
    assert.match((await run('dkim', 'list')).output, / mr1 +active +- +20\S+Z +service$/m)
  })

  test('changes nothing when DNS does not answer', async () => {
    dns.zone = { [NAME]: 'servfail' }
    const { code, output } = await run('dkim', 'rotate')
    assert.equal(code, 1)
    assert.doesNotMatch((await run('dkim', 'rotate', '\x1b[2J.example')).output, /\x1b/)
    assert.match(output, /the DNS query for .*nothing was changed/)
  })

  test('changes to the next key a day after DNS has it or by --now, and says what to do then', async () => {
    const printed = (await run('dkim', 'rotate')).output
    dns.zone = {}
    const record = (await run('dkim', 'rotate')).output.match(/v=DKIM1; k=rsa; p=\S{392}/)?.[0]
    assert.ok(record !== undefined, printed)
    dns.zone = { [NAME]: { TXT: [inStrings(record)] } }
    const early = await run('dkim', 'rotate')
    assert.equal(early.code, 1)
    const [, until = ''] = /Run the command again after (20\S+Z)/.exec(early.output) ?? []
    assert.ok(Math.abs(Date.parse(until) - Date.now() - DAY_MS) < 60_000, early.output)
    assert.match(early.output, /nothing was changed[\s\S]*--now/)
    const { code, output } = await run('dkim', 'rotate', 'Agents.Mail-Service.dev.', '--now')
    assert.equal(code, 0, output)
    assert.match(output, /^Until 20\S+Z, receivers .*mr2\S+.* may treat mail from here as spam/m)
    assert.match(output, /is now signed with mr2;/)
    assert.match(output, /Leave the record of mr1\S+ in DNS until 20\S+Z/)
    const list = (await run('dkim', 'list')).output
    assert.match(list, /^agents\.mail-service\.dev +mr1 +retiring +- +20\S+Z +service$/m)
    assert.match(list, /^agents\.mail-service\.dev +mr2 +active +20\S+Z +20\S+Z +service$/m)
    const dnsRecords = (await run('dns')).output
    assert.match(dnsRecords, /^DKIM \(recommended\) +TXT +mr1/m)
    assert.match(dnsRecords, /^DKIM +TXT +mr2/m)
  })

  test('has no other key for as long as the old one is published', async () => {
    const { code, output } = await run('dkim', 'rotate')
    assert.equal(code, 1)
    assert.match(output, /no next key until 20\S+Z/)
  })

  test('knows no keys of other domains', async () => {
    const { code, output } = await run('dkim', 'rotate', 'other.example')
    assert.equal(code, 1)
    assert.match(output, /no keys for other\.example/)
  })

  test('takes the name of a domain however it is written', async () => {
    const { output } = await run('dkim', 'rotate', 'BÜCHER.example.')
    assert.match(output, /no keys for xn--bcher-kva\.example/)
    const own = await run('dkim', 'rotate', 'Agents.Mail-Service.Dev.')
    assert.doesNotMatch(own.output, /no keys of/)
  })

  test('leaves the service running', async () => {
    assert.equal(await service.stop(), 0)
  })
})
