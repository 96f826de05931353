import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { emptyPlace, type Place } from '#test/scenarios/service-process.ts'
import { onEachEngine } from '#test/world.ts'

const DOMAIN = {
  MAILROOM_INBOX_DOMAIN: 'agents.mail-service.dev',
  MAILROOM_SMTP_HOSTNAME: 'mx.mail-service.dev',
}
const DKIM = /^DKIM +TXT +mr1\._domainkey\.agents\.mail-service\.dev +(v=DKIM1; k=rsa; p=\S{392})$/m

onEachEngine('mailroom dns', (engine) => {
  let place: Place
  beforeEach(async () => {
    place = await emptyPlace(engine)
  })
  afterEach(() => place.remove())

  test('prints the same records before the first start, beside the service, and after it', async () => {
    const before = await place.commandWith(DOMAIN, 'dns')
    assert.equal(before.code, 0, before.output)
    assert.match(before.output, DKIM)
    assert.match(before.output, /^DKIM \(recommended\) +TXT +mr2\._domainkey\.agents\S+ +v=DKIM1/m)
    assert.match(before.output, /^MX +MX +agents\.mail-service\.dev +10 mx\.mail-service\.dev$/m)
    const service = place.start(DOMAIN)
    await service.ready
    assert.equal((await place.commandWith(DOMAIN, 'dns')).output, before.output)
    await service.stop()
    assert.equal((await place.commandWith(DOMAIN, 'dns')).output, before.output)
  })

  test('prints zone lines with the same key', async () => {
    const table = await place.commandWith(DOMAIN, 'dns')
    const zone = await place.commandWith(DOMAIN, 'dns', '--zone')
    assert.equal(zone.code, 0, zone.output)
    const line = /^mr1\._domainkey\.agents\.mail-service\.dev\.\t.*$/m.exec(zone.output)?.[0] ?? ''
    const strings = [...line.matchAll(/"([^"]*)"/g)].map(([, text]) => text)
    assert.equal(strings.join(''), DKIM.exec(table.output)?.[1])
  })

  test('says that a reserved domain cannot be published', async () => {
    assert.match((await place.command('dns')).output, /MAILROOM_INBOX_DOMAIN/)
    assert.doesNotMatch((await place.commandWith(DOMAIN, 'dns')).output, /MAILROOM_INBOX_DOMAIN/)
  })

  test('says that the SPF record needs that of the relay, where there is one', async () => {
    const relay = { MAILROOM_DELIVERY: 'relay', MAILROOM_RELAY_URL: 'smtp://relay.example:587' }
    const { code, output } = await place.commandWith({ ...DOMAIN, ...relay }, 'dns', '--zone')
    assert.equal(code, 0, output)
    assert.match(
      output,
      /^Mail leaves through the relay: .*include.*SPF.*agents\.mail-service\.dev\.$/m,
    )
    assert.doesNotMatch((await place.commandWith(DOMAIN, 'dns')).output, /relay/)
  })

  test('fails with what to set when the key of the secrets is not there', async () => {
    const given: Record<string, string> =
      engine === 'sqlite' ? {} : { MAILROOM_SECRET_KEY: 'ab'.repeat(32) }
    assert.equal((await place.commandWith({ ...DOMAIN, ...given }, 'dns')).code, 0)
    await rm(join(place.dataDir, 'secret.key'), { force: engine !== 'sqlite' })
    const { code, output } = await place.commandWith(DOMAIN, 'dns')
    assert.equal(code, 1)
    assert.match(output, /^mailroom: .*MAILROOM_SECRET_KEY/m)
    assert.doesNotMatch(output, /\n {4}at /)
  })
})
