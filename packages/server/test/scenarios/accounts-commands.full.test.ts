import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { changeAccount, listAccounts } from '#accounts/store/accounts.ts'
import { openStore, silentObserver } from '#app/open-store.ts'
import { DAY_MS } from '#platform/units.ts'
import { inStrings } from '#test/conformance/dkim-place.ts'
import { type Dns, openDns } from '#test/peers/dns.ts'
import {
  clientOf,
  emptyPlace,
  type Place,
  type ServiceProcess,
} from '#test/scenarios/service-process.ts'
import { onEachEngine, prepared } from '#test/world.ts'

const KEY = 'the-key-of-this-test-0123456789'

onEachEngine('the command line', (engine) => {
  let http: string
  const place = prepared(() => emptyPlace(engine))
  before(async () => {
    http = (await place.start({ MAILROOM_BOOTSTRAP_API_KEY: KEY }).ready).http
  })
  after(() => place.remove())

  test('an account created by a command has a key that the running service accepts at once', async () => {
    const made = await place.command(
      'admin',
      'account',
      'create',
      '--name',
      'By hand',
      '--plan',
      'developer',
    )
    assert.equal(made.code, 0, made.output)
    const key = /^key\s+(mr_[0-9A-Za-z]{40})$/m.exec(made.output)?.[1] ?? ''
    const id = /^account\s+(acc_[0-9a-z]{26})$/m.exec(made.output)?.[1] ?? ''
    assert.equal((await clientOf(http, key).pods.list().page()).total, 1)
    const changed = await place.command(
      'admin',
      'account',
      'set-plan',
      '--account',
      id,
      '--plan',
      'free',
    )
    assert.match(changed.output, /^plan +free$/m)
    assert.equal((await clientOf(http, key).account.get()).plan, 'free')
    const listed = await place.command('admin', 'account', 'list')
    assert.match(listed.output, new RegExp(`^${id} +free +\\S+ +By hand$`, 'm'))
    assert.ok(!listed.output.includes(key))
  })

  test('a name is listed without characters that control a terminal', async () => {
    const store = await openStore({
      settings: {
        dataDir: place.dataDir,
        databaseUrl: place.databaseUrl,
        blobStore: 'disk',
      },
      as: 'command',
      observer: silentObserver,
      onError: () => {},
    })
    const { accounts } = await listAccounts(store.db, { limit: 1, offset: 0 })
    const name = 'A\u001b[31m\u009b2J\u202e\u2066\rname'
    await store.db.write(changeAccount, { id: accounts[0]?.id ?? '', name })
    await store.close()
    const { output } = await place.command('admin', 'account', 'list')
    assert.match(output, / {2}A\?\[31m\?2J\?\?\?name$/m)
  })

  test('an approver created by a command is accepted at once, and only a command deletes the last one', async () => {
    const account = /acc_[0-9a-z]{26}/.exec(
      (await place.command('admin', 'account', 'list')).output,
    )?.[0]
    const of = ['--account', account ?? '', '--name', 'Ann Approver']
    const made = await place.command(
      'admin',
      'approver',
      'create',
      ...of,
      '--email',
      'ann@people.example',
      '--webhook-url',
      'https://people.example/reviews',
    )
    assert.equal(made.code, 0, made.output)
    const secret = /^webhook secret {2}(whsec_\S{44})$/m.exec(made.output)?.[1] ?? ''
    const token = /^token {2}(mra_[0-9A-Za-z]{40})$/m.exec(made.output)?.[1] ?? ''
    const id = /^id {5}(apr_[0-9a-z]{26})$/m.exec(made.output)?.[1] ?? ''
    const { approvers } = clientOf(http, token)
    const [shown] = (await approvers.list().page()).data
    assert.deepEqual([shown?.id, shown?.webhookUrl], [id, 'https://people.example/reviews'])
    const listed = await place.command('admin', 'approver', 'list', '--account', account ?? '')
    assert.match(
      listed.output,
      new RegExp(
        `^${id} {2}\\S+ {2}Ann Approver {2}ann@people.example {2}https://people.example/reviews$`,
        'm',
      ),
    )
    assert.ok(secret !== '' && !listed.output.includes(secret))
    assert.ok(!listed.output.includes(token))
    await assert.rejects(approvers.delete(id), { code: 'last_approver' })
    assert.equal((await place.command('admin', 'approver', 'delete', id)).code, 0)
    await assert.rejects(approvers.list().page(), { status: 401 })
    const again = await place.command('admin', 'approver', 'delete', id)
    assert.equal(again.code, 1)
    assert.match(again.output, /no approver/)
    const wrong = await place.command('admin', 'approver', 'create', ...of, '--email', 'nobody')
    assert.equal(wrong.code, 1)
    const unknown = await place.command(
      'admin',
      'approver',
      'create',
      '--account',
      'acc_x',
      '--name',
      'x',
    )
    assert.equal(unknown.code, 1)
  })

  test('a policy is shown and replaced by a command also where only an approver may, which the audit tells', async () => {
    const made = await place.command('admin', 'account', 'create', '--name', 'Guarded')
    const id = /acc_[0-9a-z]{26}/.exec(made.output)?.[0] ?? ''
    const client = clientOf(http, /mr_[0-9A-Za-z]{40}/.exec(made.output)?.[0] ?? '')
    const inbox = await client.inboxes.create()
    const of = ['--account', id, '--inbox', inbox.id]
    const path = join(place.dataDir, 'policy.json')
    const put = async (body: unknown) => {
      await writeFile(path, typeof body === 'string' ? body : JSON.stringify(body))
      return place.command('admin', 'account', 'put-policy', path, ...of)
    }
    const guards = { newRecipients: 'hold', maxPerHour: 5 } as const
    const early = await put({ outbound: { guards } })
    assert.deepEqual([early.code, /approver/.test(early.output)], [1, true])

    await client.approvers.create({ name: 'Ann' })
    const here = { inboxId: inbox.id }
    const refused = client.policy.replace({ outbound: { guards } }, here)
    await assert.rejects(refused, { code: 'approver_required' })
    const rules = [{ type: 'allow', value: 'partner.example' }]
    assert.equal((await put({ outbound: { guards, rules } })).code, 0)
    const shown = await place.command('admin', 'account', 'show-policy', ...of)
    const policy = await client.policy.get(here)
    assert.deepEqual(JSON.parse(shown.output), policy)
    assert.deepEqual(
      [policy.outbound.guards.newRecipients, policy.outbound.rules.length],
      ['hold', 1],
    )
    const { data } = await client.policy.audit({ decision: 'change' }).page()
    assert.deepEqual(data[0]?.actor, { kind: 'operator', id: null })

    for (const [body, fault] of [
      [{ outbound: { guards: { newRecipients: 'ask' } } }, /"outbound\.guards\.newRecipients"/],
      [
        { outbound: { rules: [{ type: 'allow', value: 'no domain' }] } },
        /"outbound\.rules\[0\]\.value"/,
      ],
      [{ sideways: {} }, /"sideways"/],
      ['{', /cannot be read as JSON/],
    ] as const) {
      const wrong = await put(body)
      assert.equal(wrong.code, 1, wrong.output)
      assert.match(wrong.output, fault)
    }
    const both = await place.command('admin', 'account', 'show-policy', ...of, '--pod', 'tenant')
    assert.match(both.output, /not both/)
    const unknown = await place.command('admin', 'account', 'show-policy', '--account', 'acc_x')
    assert.equal(unknown.code, 1)
    assert.deepEqual(await client.policy.get(here), policy)
  })

  test('a key created by a command works, and is refused as soon as a command revokes it', async () => {
    const account = /acc_[0-9a-z]{26}/.exec(
      (await place.command('admin', 'account', 'list')).output,
    )?.[0]
    const made = await place.command(
      'admin',
      'key',
      'create',
      '--account',
      account ?? '',
      '--name',
      'new',
    )
    const token = /mr_[0-9A-Za-z]{40}/.exec(made.output)?.[0] ?? ''
    const id = /key_[0-9a-z]{26}/.exec(made.output)?.[0] ?? ''
    await clientOf(http, token).pods.list().page()
    assert.equal((await place.command('admin', 'key', 'revoke', id)).code, 0)
    await assert.rejects(clientOf(http, token).pods.list().page(), { status: 401 })
    const again = await place.command('admin', 'key', 'revoke', id)
    assert.equal(again.code, 1)
    assert.match(again.output, /no active key/)
  })

  test('only the operator can assign a reserved name', async () => {
    const client = clientOf(http, KEY)
    const asked = client.inboxes.create({ mailboxName: 'admin' })
    await assert.rejects(asked, { status: 409, code: 'address_taken' })
    const account = (await client.account.get()).id
    const createInbox = (name: string) =>
      place.command('admin', 'account', 'create-inbox', '--account', account, '--name', name)
    const made = await createInbox('admin')
    assert.equal(made.code, 0, made.output)
    const id = /^inbox\s+(inb_[0-9a-z]{26})$/m.exec(made.output)?.[1] ?? ''
    const inbox = await client.inboxes.get(id)
    assert.match(inbox.address, /^admin@/)
    assert.ok(made.output.includes(inbox.address))
    const again = await createInbox('admin')
    assert.deepEqual([again.code, again.output.includes('in use')], [1, true])
    const odd = await createInbox('A')
    assert.equal(odd.code, 1)
  })

  test('unknown and invalid arguments give a one-line message without a stack', async () => {
    const wrong: [string[], number][] = [
      [['admin', 'key', 'create', '--account', 'acc_unknown'], 1],
      [['admin', 'key', 'revoke', 'key_unknown'], 1],
      [['admin', 'account', 'create', '--name', 'x', '--plan', 'gold'], 2],
      [['admin', 'account', 'create'], 2],
      [['no-such-command'], 2],
    ]
    for (const [args, code] of wrong) {
      const told = await place.command(...args)
      assert.equal(told.code, code, `${args.join(' ')}: ${told.output}`)
      assert.doesNotMatch(told.output, /^ {4}at /m)
    }
  })
})

const DOMAIN = {
  MAILROOM_INBOX_DOMAIN: 'agents.mail-service.dev',
  MAILROOM_SMTP_HOSTNAME: 'mx.mail-service.dev',
}
const DKIM = /^DKIM +TXT +mr1\._domainkey\.agents\.mail-service\.dev +(v=DKIM1; k=rsa; p=\S{392})$/m

onEachEngine('mailroom admin dns', (engine) => {
  let place: Place
  beforeEach(async () => {
    place = await emptyPlace(engine)
  })
  afterEach(() => place.remove())

  test('prints the same records before the first start, beside the service, and after it', async () => {
    const before = await place.commandWith(DOMAIN, 'admin', 'dns')
    assert.equal(before.code, 0, before.output)
    assert.match(before.output, DKIM)
    assert.match(before.output, /^DKIM \(recommended\) +TXT +mr2\._domainkey\.agents\S+ +v=DKIM1/m)
    assert.match(before.output, /^MX +MX +agents\.mail-service\.dev +10 mx\.mail-service\.dev$/m)
    const service = place.start(DOMAIN)
    await service.ready
    assert.equal((await place.commandWith(DOMAIN, 'admin', 'dns')).output, before.output)
    await service.stop()
    assert.equal((await place.commandWith(DOMAIN, 'admin', 'dns')).output, before.output)
  })

  test('prints zone lines with the same key', async () => {
    const table = await place.commandWith(DOMAIN, 'admin', 'dns')
    const zone = await place.commandWith(DOMAIN, 'admin', 'dns', '--zone')
    assert.equal(zone.code, 0, zone.output)
    const line = /^mr1\._domainkey\.agents\.mail-service\.dev\.\t.*$/m.exec(zone.output)?.[0] ?? ''
    const strings = [...line.matchAll(/"([^"]*)"/g)].map(([, text]) => text)
    assert.equal(strings.join(''), DKIM.exec(table.output)?.[1])
  })

  test('says that a reserved domain cannot be published', async () => {
    assert.match((await place.command('admin', 'dns')).output, /MAILROOM_INBOX_DOMAIN/)
    assert.doesNotMatch(
      (await place.commandWith(DOMAIN, 'admin', 'dns')).output,
      /MAILROOM_INBOX_DOMAIN/,
    )
  })

  test('mentions the SPF record of the relay if there is one', async () => {
    const relay = { MAILROOM_DELIVERY: 'relay', MAILROOM_RELAY_URL: 'smtp://relay.example:587' }
    const { code, output } = await place.commandWith(
      { ...DOMAIN, ...relay },
      'admin',
      'dns',
      '--zone',
    )
    assert.equal(code, 0, output)
    assert.match(
      output,
      /^Mail leaves through the relay: .*include.*SPF.*agents\.mail-service\.dev\.$/m,
    )
    assert.doesNotMatch((await place.commandWith(DOMAIN, 'admin', 'dns')).output, /relay/)
  })

  test('fails without the key of the secrets and names the setting', async () => {
    const given: Record<string, string> =
      engine === 'sqlite' ? {} : { MAILROOM_SECRET_KEY: 'ab'.repeat(32) }
    assert.equal((await place.commandWith({ ...DOMAIN, ...given }, 'admin', 'dns')).code, 0)
    await rm(join(place.dataDir, 'secret.key'), { force: engine !== 'sqlite' })
    const { code, output } = await place.commandWith(DOMAIN, 'admin', 'dns')
    assert.equal(code, 1)
    assert.match(output, /^mailroom: .*MAILROOM_SECRET_KEY/m)
    assert.doesNotMatch(output, /\n {4}at /)
  })
})

onEachEngine('mailroom admin dkim', (engine) => {
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

  test('says that there are no keys before the first one is needed', async () => {
    const { code, output } = await run('admin', 'dkim', 'list')
    assert.equal(code, 0, output)
    assert.match(output, /no keys yet.*mailroom admin dns/)
  })

  test('does not rotate to a key that is not in DNS, and prints its record', async () => {
    const { code, output } = await run('admin', 'dkim', 'rotate')
    assert.equal(code, 1)
    assert.ok(output.includes(NAME), output)
    assert.match(output, /v=DKIM1; k=rsa; p=\S{392}$/m)
    assert.match((await run('admin', 'dkim', 'list')).output, / mr1 +active +- +20\S+Z +service$/m)
  })

  test('changes nothing when DNS does not answer', async () => {
    dns.zone = { [NAME]: 'servfail' }
    const { code, output } = await run('admin', 'dkim', 'rotate')
    assert.equal(code, 1)
    assert.doesNotMatch((await run('admin', 'dkim', 'rotate', '\x1b[2J.example')).output, /\x1b/)
    assert.match(output, /the DNS query for .*nothing was changed/)
  })

  test('rotates a day after DNS has the next key, or at once with --now, and says what to do next', async () => {
    const printed = (await run('admin', 'dkim', 'rotate')).output
    dns.zone = {}
    const record = (await run('admin', 'dkim', 'rotate')).output.match(
      /v=DKIM1; k=rsa; p=\S{392}/,
    )?.[0]
    assert.ok(record !== undefined, printed)
    dns.zone = { [NAME]: { TXT: [inStrings(record)] } }
    const early = await run('admin', 'dkim', 'rotate')
    assert.equal(early.code, 1)
    const [, until = ''] = /Run the command again after (20\S+Z)/.exec(early.output) ?? []
    assert.ok(Math.abs(Date.parse(until) - Date.now() - DAY_MS) < 60_000, early.output)
    assert.match(early.output, /nothing was changed[\s\S]*--now/)
    const { code, output } = await run(
      'admin',
      'dkim',
      'rotate',
      'Agents.Mail-Service.dev.',
      '--now',
    )
    assert.equal(code, 0, output)
    assert.match(output, /^Until 20\S+Z, receivers .*mr2\S+.* may treat mail from here as spam/m)
    assert.match(output, /is now signed with mr2;/)
    assert.match(output, /Leave the record of mr1\S+ in DNS until 20\S+Z/)
    const list = (await run('admin', 'dkim', 'list')).output
    assert.match(list, /^agents\.mail-service\.dev +mr1 +retiring +- +20\S+Z +service$/m)
    assert.match(list, /^agents\.mail-service\.dev +mr2 +active +20\S+Z +20\S+Z +service$/m)
    const dnsRecords = (await run('admin', 'dns')).output
    assert.match(dnsRecords, /^DKIM \(recommended\) +TXT +mr1/m)
    assert.match(dnsRecords, /^DKIM +TXT +mr2/m)
  })

  test('has no next key while the old one is published', async () => {
    const { code, output } = await run('admin', 'dkim', 'rotate')
    assert.equal(code, 1)
    assert.match(output, /no next key until 20\S+Z/)
  })

  test('knows no keys of other domains', async () => {
    const { code, output } = await run('admin', 'dkim', 'rotate', 'other.example')
    assert.equal(code, 1)
    assert.match(output, /no keys for other\.example/)
  })

  test('accepts the name of a domain in any spelling', async () => {
    const { output } = await run('admin', 'dkim', 'rotate', 'BÜCHER.example.')
    assert.match(output, /no keys for xn--bcher-kva\.example/)
    const own = await run('admin', 'dkim', 'rotate', 'Agents.Mail-Service.Dev.')
    assert.doesNotMatch(own.output, /no keys of/)
  })

  test('leaves the service running', async () => {
    assert.equal(await service.stop(), 0)
  })
})
