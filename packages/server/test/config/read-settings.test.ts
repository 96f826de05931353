import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { generate } from 'selfsigned'
import { renderConfigurationPage } from '#commands/generate.ts'
import {
  describeMistake,
  intakeThreadsOn,
  publicUrlOf,
  readDotEnv,
  readSettings,
} from '#config/read-settings.ts'
import { LIMIT_SETTINGS, SETTINGS, type Settings } from '#config/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'mailroom-config-'))
after(() => rmSync(folder, { recursive: true }))

type Env = Record<string, string>

function settingsOf(env: Env, dotEnv?: string): Settings {
  const reading = readSettings(env, dotEnv)
  if (reading.kind === 'mistakes') assert.fail(reading.mistakes.map(describeMistake).join('\n'))
  return reading.settings
}

function mistakesOf(env: Env): string[] {
  const reading = readSettings(env)
  return reading.kind === 'mistakes' ? reading.mistakes.map(describeMistake) : []
}

/** The names of wrong settings, in the order of the table. */
function wrongNames(env: Env): string[] {
  return mistakesOf(env).map((line) => line.slice(0, line.indexOf(':')))
}

test('a guessable operator’s token causes a warning and works', () => {
  const warningsOf = (token: string) => readSettings({ MAILROOM_ADMIN_TOKEN: token }).warnings
  assert.equal(settingsOf({ MAILROOM_ADMIN_TOKEN: 'op' }).adminToken, 'op')
  assert.match(warningsOf('op').join(), /^MAILROOM_ADMIN_TOKEN can be guessed/)
  assert.equal(warningsOf('x'.repeat(15)).length, 1)
  assert.doesNotMatch(warningsOf('secret').join(), /secret/)
  assert.deepEqual(warningsOf('x'.repeat(16)), [])
})

test('an empty environment gives the documented defaults', () => {
  const { roles, ...settings } = settingsOf({})
  assert.deepEqual([...roles], ['http', 'smtp', 'delivery', 'webhooks'])
  assert.deepEqual(settings, {
    dataDir: resolve('data'),
    databaseUrl: null,
    blobStore: 'disk',
    httpHost: '127.0.0.1',
    httpPort: 8080,
    smtpHost: '127.0.0.1',
    smtpPort: 2525,
    reusePort: false,
    intakeThreads: intakeThreadsOn(
      { cores: availableParallelism(), platform: process.platform },
      null,
      'sqlite',
    ),
    trustedProxies: null,
    forwardedHeader: null,
    publicUrl: null,
    inboxDomain: 'mailroom.localhost',
    smtpHostname: 'mailroom.localhost',
    delivery: 'sandbox',
    relayUrl: null,
    dnsServers: [],
    mxPort: 25,
    dkimRotationDays: 180,
    allowPrivateEgress: false,
    bootstrapApiKey: null,
    bootstrapPlan: 'launch',
    firstApprover: 'key',
    authenticateInbound: true,
    rejectDmarcFailures: true,
    readAttachments: true,
    rspamdUrl: null,
    clamdUrl: null,
    adminToken: null,
    secretKey: null,
    tlsFiles: null,
    logLevel: 'info',
    metricsHost: '127.0.0.1',
    metricsPort: null,
    otlpEndpoint: null,
    traceShare: 1,
    programFolders: '',
    limits: {
      apiPerMinute: 1000,
      failedAuthPerMinute: 60,
      sendsPerMinute: 10,
      sendsPerDay: 200,
      inboxesPerDay: 100,
      coldPerDay: 20,
      coldAccountPerDay: null,
      heldPerInbox: 100,
      reviewDays: 7,
      importBytes: 1024 ** 3,
      uploadedBytesPerAccount: 1024 ** 3,
      storedBytesPerAccount: 10_737_418_240,
    },
  })
})

test('every setting has a unique name and a valid default', () => {
  const table = [...Object.values(SETTINGS), ...Object.values(LIMIT_SETTINGS)]
  assert.equal(new Set(table.map(({ name }) => name)).size, table.length)
  for (const setting of table) {
    assert.match(setting.name, /^MAILROOM_[A-Z_]+$/)
    if (setting.default !== null) assert.ok('value' in setting.form.read(setting.default))
  }
})

test('the environment has precedence over the .env file, even with an empty value', () => {
  const dotEnv = '# ports\nMAILROOM_HTTP_PORT=1111\nMAILROOM_SMTP_PORT="2222"\nOTHER=x\n'
  const settings = settingsOf({ MAILROOM_HTTP_PORT: '3333' }, dotEnv)
  assert.equal(settings.httpPort, 3333)
  assert.equal(settings.smtpPort, 2222)
  assert.equal(settingsOf({ MAILROOM_SMTP_PORT: '' }, dotEnv).smtpPort, 2525)
})

test('the .env file of a folder is read if there is one', () => {
  assert.equal(readDotEnv(folder), '')
  writeFileSync(join(folder, '.env'), 'MAILROOM_MX_PORT=26\n')
  assert.equal(settingsOf({}, readDotEnv(folder)).mxPort, 26)
})

test('settings cannot be changed', () => {
  const settings = settingsOf({})
  assert.ok(Object.isFrozen(settings) && Object.isFrozen(settings.limits))
})

test('all mistakes are reported at once, by name, with the given value and the expected form', () => {
  assert.deepEqual(
    mistakesOf({
      MAILROOM_HTTP_PORT: '80a',
      MAILROOM_DELIVERY: 'relais',
      MAILROOM_LIMIT_API_PER_MINUTE: '0',
    }),
    [
      'MAILROOM_HTTP_PORT: expected a port, 0 to 65535 (given: "80a")',
      'MAILROOM_DELIVERY: expected one of sandbox, direct, relay (given: "relais")',
      'MAILROOM_LIMIT_API_PER_MINUTE: expected a whole number, 1 to 1000000000 (given: "0")',
    ],
  )
})

test('a mistyped secret is in no message', () => {
  const env = {
    MAILROOM_DATABASE_URL: 'mysql://user:hunter2@host/db',
    MAILROOM_RELAY_URL: 'http://user:hunter2@host',
    MAILROOM_BOOTSTRAP_API_KEY: 'hunter2',
    MAILROOM_ADMIN_TOKEN: 'hunter2 with space',
    MAILROOM_SECRET_KEY: 'hunter2',
  }
  assert.deepEqual(wrongNames(env), Object.keys(env))
  assert.doesNotMatch(JSON.stringify(readSettings(env)), /hunter2/)
})

test('a given value is shown as one line of limited length', () => {
  const [line = ''] = mistakesOf({ MAILROOM_LOG_LEVEL: `loud\n\x1b[31m${'x'.repeat(10_000)}` })
  assert.doesNotMatch(line, /[\n\x1b]/)
  assert.ok(line.length < 300)
})

type Case = [setting: keyof Settings & keyof typeof SETTINGS, given: string, value: unknown]

const accepted: Case[] = [
  ['httpPort', '0', 0],
  ['httpPort', '65535', 65535],
  ['smtpHost', '::', '::'],
  ['smtpHost', '[::1]', '::1'],
  ['smtpHost', 'localhost', 'localhost'],
  ['httpHost', ' 0.0.0.0 ', '0.0.0.0'],
  ['publicUrl', 'https://Mail.example.com/', 'https://mail.example.com'],
  ['publicUrl', 'https://example.com/mail//', 'https://example.com/mail'],
  ['inboxDomain', 'Agents.Example.COM.', 'agents.example.com'],
  ['inboxDomain', 'bücher.example', 'xn--bcher-kva.example'],
  ['smtpHostname', 'mx', 'mx'],
  ['databaseUrl', 'postgresql://u:p@h:5432/d', 'postgresql://u:p@h:5432/d'],
  ['relayUrl', 'smtps://u:p@relay.example:465', 'smtps://u:p@relay.example:465'],
  ['dnsServers', '192.0.2.1, 192.0.2.2:5353', ['192.0.2.1:53', '192.0.2.2:5353']],
  ['dnsServers', '[2001:db8::1]:54,2001:db8::2', ['[2001:db8::1]:54', '[2001:db8::2]:53']],
  ['allowPrivateEgress', 'TRUE', true],
  ['allowPrivateEgress', '0', false],
  ['roles', 'all', new Set(['http', 'smtp', 'delivery', 'webhooks'])],
  ['bootstrapApiKey', `mr_${'a-B_9'.repeat(25)}`, `mr_${'a-B_9'.repeat(25)}`],
  ['blobStore', 'database', 'database'],
  ['secretKey', 'aB'.repeat(32), 'aB'.repeat(32)],
  ['secretKey', `${'+/aZ'.repeat(10)}AAA=`, `${'+/aZ'.repeat(10)}AAA=`],
  ['logLevel', 'silent', 'silent'],
]

for (const [key, given, value] of accepted) {
  test(`${SETTINGS[key].name} accepts ${JSON.stringify(given)}`, () => {
    assert.deepEqual(settingsOf({ [SETTINGS[key].name]: given })[key], value)
  })
}

const refused: [setting: keyof typeof SETTINGS, given: readonly string[]][] = [
  ['httpPort', ['65536', '-1', '8080.5', '1e3', '0x50', 'http']],
  ['mxPort', ['0']],
  ['dkimRotationDays', ['-1', '1.5', '3651']],
  ['smtpHost', ['::g', '256.0.0.1', 'a b', 'host:25', '-x.example']],
  [
    'publicUrl',
    ['mail.example.com', 'ftp://x', 'https://u@x', 'https://x/?a', 'https://x/#', '/v1'],
  ],
  ['publicUrl', [`https://x/${'a'.repeat(291)}`]],
  ['inboxDomain', ['10.0.0.1', 'a..b', 'a_b.example', '.example', 'a@b', '%61.example', '1']],
  ['inboxDomain', [`${'a'.repeat(64)}.example`, `${'a.'.repeat(127)}example`]],
  ['databaseUrl', ['sqlite://x', 'postgres', 'postgres://']],
  ['relayUrl', ['relay.example:25', 'smtp://h/path', 'smtp://h?x=1', 'smtp://h:0']],
  [
    'dnsServers',
    ['resolver.example', '192.0.2.1:0', '192.0.2.1:99999', '192.0.2.1,', '[192.0.2.1]'],
  ],
  ['allowPrivateEgress', ['maybe', '2']],
  ['roles', ['http,imap', 'http,,smtp', 'HTTP']],
  ['bootstrapApiKey', ['a'.repeat(23), 'a'.repeat(129), `mr_${'é'.repeat(30)}`]],
  ['bootstrapPlan', ['enterprise']],
  ['firstApprover', ['agent']],
  ['secretKey', ['ab'.repeat(31), `${'ab'.repeat(31)}ag`, 'A'.repeat(40), `${'A'.repeat(42)}B=`]],
  ['secretKey', [`${'-_aZ'.repeat(10)}AAA=`, `${'A'.repeat(20)} ${'A'.repeat(23)}=`]],
  ['adminToken', ['two words', 'täg', 'x'.repeat(513)]],
  ['logLevel', ['verbose']],
]

for (const [key, texts] of refused) {
  test(`${SETTINGS[key].name} refuses ${texts.map((text) => text.slice(0, 30)).join(' and ')}`, () => {
    for (const text of texts) {
      assert.deepEqual(wrongNames({ [SETTINGS[key].name]: text }), [SETTINGS[key].name], text)
    }
  })
}

test('mail is received in a thread for each core but one, within what one store can use', () => {
  const on = (cores: number, engine: 'sqlite' | 'postgres', asked: number | null = null) =>
    intakeThreadsOn({ cores, platform: 'linux' }, asked, engine)
  assert.deepEqual(
    [1, 2, 3, 4, 8, 64].map((cores) => on(cores, 'sqlite')),
    [1, 1, 2, 3, 7, 8],
  )
  assert.deepEqual(
    [1, 2, 8].map((cores) => on(cores, 'postgres')),
    [1, 1, 4],
  )
  assert.deepEqual([on(1, 'postgres', 64), on(8, 'sqlite', 0)], [64, 0])
  const elsewhere = (asked: number | null) =>
    intakeThreadsOn({ cores: 8, platform: 'darwin' }, asked, 'sqlite')
  assert.deepEqual([elsewhere(null), elsewhere(4), elsewhere(0)], [1, 1, 0])
  assert.equal(settingsOf({ MAILROOM_INTAKE_THREADS: '0' }).intakeThreads, 0)
  for (const wrong of ['-1', '1.5', '65', 'all']) {
    assert.deepEqual(mistakesOf({ MAILROOM_INTAKE_THREADS: wrong }), [
      `MAILROOM_INTAKE_THREADS: expected a whole number, 0 to 64 (given: "${wrong}")`,
    ])
  }
})

test('large blobs are stored in the database on PostgreSQL by default', () => {
  const env = { MAILROOM_DATABASE_URL: 'postgres://localhost/mail' }
  assert.equal(settingsOf(env).blobStore, 'database')
  assert.equal(settingsOf({ ...env, MAILROOM_BLOB_URL: 'disk' }).blobStore, 'disk')
})

test('a process may have some of the roles on either database', () => {
  assert.deepEqual([...settingsOf({ MAILROOM_ROLES: 'http,smtp' }).roles], ['http', 'smtp'])
})

test('a mistyped database URL is not reported as a missing one', () => {
  const env = { MAILROOM_ROLES: 'http', MAILROOM_DATABASE_URL: 'postgre://localhost/mail' }
  assert.deepEqual(wrongNames(env), ['MAILROOM_DATABASE_URL'])
})

test('delivery by relay requires a relay', () => {
  assert.deepEqual(wrongNames({ MAILROOM_DELIVERY: 'relay' }), ['MAILROOM_RELAY_URL'])
  const settings = settingsOf({ MAILROOM_DELIVERY: 'relay', MAILROOM_RELAY_URL: 'smtp://relay:25' })
  assert.equal(settings.delivery, 'relay')
})

test('the two listeners cannot have one port, unless it is any free one', () => {
  const same = (port: string) => ({ MAILROOM_HTTP_PORT: port, MAILROOM_SMTP_PORT: port })
  assert.deepEqual(wrongNames(same('2525')), ['MAILROOM_SMTP_PORT'])
  assert.deepEqual(wrongNames(same('0')), [])
})

test('a data folder that is a file is a mistake', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  assert.deepEqual(wrongNames({ MAILROOM_DATA_DIR: file }), ['MAILROOM_DATA_DIR'])
})

test('certificate and key must both be given, be readable, and belong together', async () => {
  const [mine, other] = await Promise.all([generate(), generate()])
  const write = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }
  const cert = write('cert.pem', mine.cert)
  const key = write('key.pem', mine.private)
  const foreign = write('other.pem', other.private)
  const env = (certFile: string, keyFile: string) => ({
    MAILROOM_TLS_CERT: certFile,
    MAILROOM_TLS_KEY: keyFile,
  })
  assert.deepEqual(settingsOf(env(cert, key)).tlsFiles, { cert, key })
  assert.deepEqual(wrongNames(env(cert, '')), ['MAILROOM_TLS_KEY'])
  assert.deepEqual(wrongNames(env('', key)), ['MAILROOM_TLS_CERT'])
  assert.deepEqual(wrongNames(env(cert, foreign)), ['MAILROOM_TLS_KEY'])
  assert.deepEqual(wrongNames(env(key, cert)), ['MAILROOM_TLS_CERT', 'MAILROOM_TLS_KEY'])
  assert.deepEqual(wrongNames(env(join(folder, 'none'), key)), ['MAILROOM_TLS_CERT'])
})

test('an unknown name causes a warning with the most similar known one, without its value', () => {
  const env = { MAILROOM_HTTP_PROT: 'hunter2', MAILROOM_TEST_SEED: 'x', MAILBOX: 'y' }
  const { kind, warnings } = readSettings(env, 'MAILROOM_LIMIT_SENDS=5')
  assert.equal(kind, 'settings')
  assert.deepEqual(warnings, [
    'MAILROOM_HTTP_PROT is not a setting; the nearest is MAILROOM_HTTP_PORT',
    'MAILROOM_LIMIT_SENDS is not a setting; the nearest is MAILROOM_LIMIT_SENDS_PER_MINUTE',
    'MAILROOM_TEST_SEED is not a setting; the nearest is MAILROOM_TLS_CERT',
  ])
})

test('the names that the command line, MCP and the docs use cause no warning', () => {
  const names = ['API_KEY', 'APPROVER_TOKEN', 'BASE_URL', 'INBOX', 'LEASE_TOKEN', 'MCP_INBOX']
  const env = Object.fromEntries(names.map((name) => [`MAILROOM_${name}`, 'x']))
  assert.deepEqual(readSettings({ ...env, MAILROOM_MCP_READ_ONLY: 'true' }).warnings, [])
})

test('without a public URL absolute URLs have the actual port', () => {
  assert.equal(publicUrlOf(settingsOf({}), 4711), 'http://127.0.0.1:4711')
  const settings = settingsOf({ MAILROOM_PUBLIC_URL: 'https://mail.example/' })
  assert.equal(publicUrlOf(settings, 4711), 'https://mail.example')
})

const page = new URL('../../../../docs/configuration.md', import.meta.url)

test('docs/configuration.md is current (else: npm run generate)', () => {
  assert.equal(readFileSync(page, 'utf8'), renderConfigurationPage())
})

test('the page names every setting', () => {
  const text = renderConfigurationPage()
  for (const { name } of [...Object.values(SETTINGS), ...Object.values(LIMIT_SETTINGS)]) {
    assert.ok(text.includes(`\`${name}\``), name)
  }
})
