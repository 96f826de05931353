import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import fc from 'fast-check'
import { digestOf, type ReviewContent } from '#outbound/waiting/review-content.ts'
import { canonicalJson, type JsonValue } from '#platform/canonical-json.ts'

type Example = { readonly name: string; readonly content: ReviewContent; readonly digest: string }

const docs = new URL('../../../../docs/', import.meta.url)
const page = readFileSync(new URL('reviews.md', docs), 'utf8')
const examples = JSON.parse(
  readFileSync(new URL('review-digests.json', docs), 'utf8'),
) as readonly Example[]

/** The program of that language in the documentation. */
function documented(language: string): string {
  const section = page.slice(page.indexOf('## The digest'))
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(section)?.[1]
  assert.ok(found !== undefined)
  return found
}

function isInstalled(...programs: readonly string[]): boolean {
  return programs.every((program) => spawnSync(program, ['--version']).status === 0)
}

function run(command: string, args: readonly string[], input: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { input, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout.trim()
}

for (const { name, content, digest } of examples) {
  test(`the digest of ${name} is as documented`, () => {
    assert.equal(digestOf(content), digest)
  })
}

test('every member of the content changes the digest', () => {
  for (const example of [examples[1], examples.at(-1)]) {
    assert.ok(example !== undefined)
    for (const member of Object.keys(example.content)) {
      const changed = { ...example.content, [member]: 'other' } as ReviewContent
      assert.notEqual(digestOf(changed), example.digest, member)
    }
  }
})

test('the documented Python program computes each digest', (t) => {
  if (!isInstalled('python3')) return t.skip('python3 is not installed')
  for (const { name, content, digest } of examples) {
    const input = JSON.stringify(content, null, 2)
    assert.equal(run('python3', ['-c', documented('python')], input), digest, name)
  }
})

test('the documented shell command computes each digest', (t) => {
  if (!isInstalled('jq', 'sha256sum')) return t.skip('jq or sha256sum is not installed')
  for (const { name, content, digest } of examples) {
    const hex = run('sh', ['-c', documented('sh')], JSON.stringify(content))
    assert.equal(hex, digest.replace('v2:', ''), name)
  }
})

test('any value has the canonical JSON that the Python program gives it', (t) => {
  if (!isInstalled('python3')) return t.skip('python3 is not installed')
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(text, tie('value'), { maxKeys: 5 }),
    ),
  }))
  const functions = documented('python').split('\ncontent =')[0]
  const program = `${functions}\nfor value in json.loads(sys.stdin.buffer.read()):\n    print(hashlib.sha256(canonical(value).encode()).hexdigest())`
  fc.assert(
    fc.property(fc.array(value, { minLength: 50, maxLength: 50 }), (values) => {
      const digests = values.map((one) =>
        createHash('sha256').update(canonicalJson(one)).digest('hex'),
      )
      assert.equal(run('python3', ['-c', program], JSON.stringify(values)), digests.join('\n'))
    }),
    { numRuns: sizeOf('TEST_MAILROOM_REVIEW_DIGESTS', { quick: 4, usual: 10 }) },
  )
})

test('half of a surrogate pair becomes the replacement character, and members keep their order', () => {
  assert.equal(
    canonicalJson({ b: 'x\ud83d', a: [1, true, null] }),
    '{"a":[1,true,null],"b":"x\ufffd"}',
  )
  assert.equal(canonicalJson({ '\ufb01': 1, '😀': 2, r: 3 }), '{"r":3,"😀":2,"\ufb01":1}')
})
