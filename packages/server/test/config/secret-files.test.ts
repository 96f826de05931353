import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { describeMistake, readSettings } from '#config/read-settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'mailroom-secrets-'))
after(() => rmSync(folder, { recursive: true }))

function fileOf(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

function mistakesOf(env: Record<string, string>): string[] {
  const reading = readSettings(env)
  return reading.kind === 'mistakes' ? reading.mistakes.map(describeMistake) : []
}

test('a secret is read from the file of its setting, without the line end', () => {
  const reading = readSettings({
    MAILROOM_DATABASE_URL_FILE: fileOf('url', 'postgres://u:p@h/d\n'),
    MAILROOM_ADMIN_TOKEN_FILE: fileOf('token', '  0123456789abcdef\r\n'),
  })
  assert.ok(reading.kind === 'settings')
  assert.equal(reading.settings.databaseUrl, 'postgres://u:p@h/d')
  assert.equal(reading.settings.adminToken, '0123456789abcdef')
  assert.deepEqual(reading.warnings, [])
})

test('such a secret has the form of its setting, and a wrong one is not shown', () => {
  const [line = '', ...more] = mistakesOf({ MAILROOM_SECRET_KEY_FILE: fileOf('key', 'guess-me') })
  assert.deepEqual(more, [])
  assert.match(line, /^MAILROOM_SECRET_KEY: expected 32 bytes/)
  assert.doesNotMatch(line, /guess-me/)
})

test('a missing, empty or far too large file is a mistake, as is a secret given twice', () => {
  const expected = (file: string) =>
    `MAILROOM_ADMIN_TOKEN_FILE: expected a readable file that holds the secret (given: "${file}")`
  const bad = [
    join(folder, 'none'),
    fileOf('empty', '\n'),
    fileOf('large', 'x'.repeat(70_000)),
    folder,
  ]
  for (const file of bad) {
    assert.deepEqual(mistakesOf({ MAILROOM_ADMIN_TOKEN_FILE: file }), [expected(file)])
  }
  const file = fileOf('twice', '0123456789abcdef')
  assert.deepEqual(
    mistakesOf({ MAILROOM_ADMIN_TOKEN: 'other-0123456789', MAILROOM_ADMIN_TOKEN_FILE: file }),
    [
      `MAILROOM_ADMIN_TOKEN_FILE: expected nothing, because MAILROOM_ADMIN_TOKEN is given (given: "${file}")`,
    ],
  )
})

test('only secrets may be in files', () => {
  const { warnings } = readSettings({ MAILROOM_HTTP_PORT_FILE: fileOf('port', '8080') })
  assert.match(warnings.join(), /^MAILROOM_HTTP_PORT_FILE is not a setting/)
})
