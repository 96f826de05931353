import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { renderConfigurationPage } from '#commands/generate.ts'
import { LIMIT_SETTINGS, SETTINGS } from '#config/settings.ts'

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
