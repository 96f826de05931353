import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#platform/clock.ts'
import { openLog, silentLog } from '#platform/log.ts'

const clock = { ...systemClock, now: () => Date.UTC(2026, 10, 20, 7, 19) }

async function openTestLog(
  options: { isTerminal?: boolean; level?: string; secrets?: string[] } = {},
) {
  const lines: string[] = []
  const { log } = await openLog({
    level: options.level ?? 'info',
    isTerminal: options.isTerminal ?? false,
    secrets: options.secrets ?? ['operator-"token"'],
    output: { write: (text) => lines.push(text) },
    clock,
  })
  return { log, lines }
}

test('a line is one JSON object with level, time, fields and text', async () => {
  const { log, lines } = await openTestLog()
  log.info({ door: 'smtp', client: '192.0.2.1' }, 'accepted')
  const { pid, hostname, ...line } = JSON.parse(lines[0] ?? '')
  const time = '2026-11-20T07:19:00.000Z'
  assert.deepEqual(line, { level: 30, time, door: 'smtp', client: '192.0.2.1', msg: 'accepted' })
})

test('lines below the level are not written', async () => {
  const { log, lines } = await openTestLog({ level: 'warn' })
  log.debug({}, 'a')
  log.info({}, 'b')
  log.warn({}, 'c')
  log.error({}, 'd')
  assert.equal(lines.length, 2)
})

test('an error is written with its stack and its causes', async () => {
  const { log, lines } = await openTestLog()
  log.error({ error: new Error('outer', { cause: new Error('inner') }) }, 'failed')
  const { error } = JSON.parse(lines[0] ?? '')
  assert.equal(error.message, 'outer')
  assert.match(error.stack, /log\.test\.ts/)
  assert.equal(error.cause.message, 'inner')
})

test('on a terminal a line is readable', async () => {
  const { log, lines } = await openTestLog({ isTerminal: true })
  log.warn({ client: '192.0.2.1' }, 'refused')
  assert.match(lines[0] ?? '', /WARN.*refused.*"client":"192\.0\.2\.1"\}\n$/)
})

const leaks: [what: string, fields: Record<string, unknown>][] = [
  ['a field named as a secret', { headers: { authorization: 'hunter2' }, token: 'hunter2' }],
  ['the key of the secrets', { settings: { secretKey: 'hunter2' } }],
  ['a key of ours in any text', { error: new Error(`bad key mr_${'hunter2'.repeat(6)}`) }],
  [
    'a token of an approver in any text',
    { error: new Error(`bad token mra_${'hunter2'.repeat(6)}`) },
  ],
  ...['mro_', 'mrr_', 'mrc_'].map((prefix): (typeof leaks)[number] => [
    `an OAuth token or code (${prefix}) in any text`,
    { error: new Error(`bad token ${prefix}${'hunter2'.repeat(6)}`) },
  ]),
  ['a lease token in any text', { error: new Error(`bad lease mrl_${'hunter2'.repeat(6)}`) }],
  ['a lease token in a header', { headers: { 'lease-token': 'hunter2' } }],
  ['a secret of a webhook in any text', { why: `bad secret whsec_${'hunter2'.repeat(6)}` }],
  ['a bearer credential', { line: 'authorization: Bearer hunter2' }],
  ['a token in a URL', { url: '/v1/ws?a=b&token=hunter2' }],
  ['a password in a URL', { why: 'cannot connect to postgres://mail:hunter2@db:5432/mail' }],
]

for (const [what, fields] of leaks) {
  test(`${what} is hidden`, async () => {
    for (const isTerminal of [false, true]) {
      const { log, lines } = await openTestLog({ isTerminal })
      log.info(fields, 'x')
      assert.doesNotMatch(lines.join(''), /hunter2/)
      assert.match(lines.join(''), /\[hidden\]/)
    }
  })
}

test('a secret of the configuration is hidden in fields and texts', async () => {
  const { log, lines } = await openTestLog()
  log.info({ got: 'operator-"token"' }, 'operator-"token"')
  assert.equal(JSON.parse(lines[0] ?? '').got, '[hidden]')
  assert.doesNotMatch(lines[0] ?? '', /operator/)
})

test('hiding a secret that is part of many words leaves those words readable', async () => {
  const { log, lines } = await openTestLog({ secrets: ['op', '1234567', '12345678'] })
  log.info({ operationId: 'pods.list', token: 'op', n: '1234567', key: '-12345678-' }, 'stopped')
  const { operationId, token, n, key, msg } = JSON.parse(lines[0] ?? '')
  assert.deepEqual([operationId, n, msg], ['pods.list', '1234567', 'stopped'])
  assert.deepEqual([token, key], ['[hidden]', '-[hidden]-'])
})

test('remote text can neither end a line nor control a terminal', async () => {
  const hostile = 'a\r\nb\x1b[2Jc\x00d\x9be\u2028f\u202eg\\u001b'
  for (const isTerminal of [false, true]) {
    const { log, lines } = await openTestLog({ isTerminal })
    log.info({ hostile, error: new Error(`x\x1b[2J\x9b`) }, 'x')
    log.info({ hostile }, hostile)
    assert.doesNotMatch(lines.join(''), /[\x00\x1b\x7f-\x9f\u2028\u202e]/)
    assert.equal(isTerminal || lines.join('').split('\n').length === 3, true)
    if (!isTerminal) for (const line of lines) JSON.parse(line)
  }
})

test('the silent log accepts everything', () => {
  silentLog.error({ error: new Error('x') }, 'nobody hears')
})
