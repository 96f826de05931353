import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { TOKEN_RULES } from '#secrets/token-rules.ts'
import { judgeSecrets, SECRET_GOALS } from './secrets.ts'
import { writtenSecrets } from './written-secrets.ts'

const KINDS_MIN = 60
const LOOK_ALIKES_MIN = 200
const samples = writtenSecrets()
const kinds = new Set(samples.flatMap(({ kind }) => (kind === null ? [] : [kind])))

for (const seed of [1, 2, 3]) {
  test(`secrets of set ${seed} are found with the promised precision and recall`, () => {
    const figures = judgeSecrets(writtenSecrets(seed))
    const seen = figures.differences.join('\n')
    assert.ok(figures.precisionPercent >= SECRET_GOALS.precisionPercent, seen)
    assert.ok(figures.recallPercent >= SECRET_GOALS.recallPercent, seen)
  })
}

test('the set has enough kinds and look-alikes, and a mail for every rule', () => {
  const figures = judgeSecrets(samples)
  assert.ok(figures.kinds >= KINDS_MIN, `${figures.kinds}`)
  assert.ok(figures.lookAlikes >= LOOK_ALIKES_MIN, `${figures.lookAlikes}`)
  const unseen = TOKEN_RULES.map(({ kind }) => kind).filter((kind) => !kinds.has(kind))
  assert.deepEqual(unseen, [])
})

test('the documentation lists every kind', () => {
  const page = readFileSync(new URL('../../../../docs/quality.md', import.meta.url), 'utf8')
  const listed = /<!-- kinds -->([\s\S]*?)<!-- end of kinds -->/.exec(page)?.[1] ?? ''
  const names = [...listed.matchAll(/`([a-z\d_]+)`/g)].map(([, name]) => name)
  assert.deepEqual(names.toSorted(), [...kinds].sort())
})
