import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decidingRecipientRule } from '#policy/match-recipient.ts'
import { compareValue, DOMAIN_LENGTH_MAX, readRuleValue, ruleValuesOf } from '#policy/rule-value.ts'
import {
  candidateValuesOf,
  type DecidingRule,
  judgeSender,
  type Sender,
} from '#policy/store/match-sender.ts'

const VALUES: [text: string, value: string][] = [
  ['ann@sender.example', 'ann@sender.example'],
  ['Ann@Sender.EXAMPLE', 'ann@sender.example'],
  ['"ann"@sender.example', 'ann@sender.example'],
  ['ann+tag@sender.example', 'ann+tag@sender.example'],
  ['ann@münchen.example', 'ann@xn--mnchen-3ya.example'],
  ['ann@[192.0.2.1]', 'ann@[192.0.2.1]'],
  ['Sender.EXAMPLE', 'sender.example'],
  ['sender.example.', 'sender.example'],
  ['a.b.c.example', 'a.b.c.example'],
  ['MÜNCHEN.example', 'xn--mnchen-3ya.example'],
  ['sender.co.uk', 'sender.co.uk'],
  ['github.io', 'github.io'],
  ['*.Sender.EXAMPLE', '*.sender.example'],
]

for (const [text, value] of VALUES) {
  test(`a rule for ${text} is stored as ${value}`, async () => {
    assert.deepEqual(await readRuleValue(text), { kind: 'value', value })
  })
}

const NO_VALUES = [
  '',
  'com',
  'co.uk',
  'CO.UK',
  'localhost',
  '@sender.example',
  'Ann <ann@sender.example>, bob@sender.example',
  'ann@',
  'ann@sender.example, bob@sender.example',
  'ann@sender.example\r\n',
  '.sender.example',
  '*.com',
  '*.co.uk',
  '*@sender.example',
  '*.*.sender.example',
  'a.*.sender.example',
  '*@sender.example*',
  'sender .example',
  'sender..example',
  'http://sender.example',
  '192.0.2.1',
  '[192.0.2.1]',
  '::1',
  '-a.example',
  `${'a.'.repeat(DOMAIN_LENGTH_MAX)}example`,
  `${'a'.repeat(64)}.example`,
]

for (const text of NO_VALUES) {
  test(`a rule cannot be for ${JSON.stringify(text.slice(0, 60))}`, async () => {
    const read = await readRuleValue(text)
    assert.equal(read.kind, 'defect')
    if (read.kind === 'defect') assert.match(read.message, /^must /)
  })
}

test('an address belongs to its domain and to parent domains, but to no top-level domain', () => {
  const values = ['ann@a.b.example', 'a.b.example', 'b.example', '*.b.example']
  assert.deepEqual(ruleValuesOf('Ann@A.B.Example'), values)
  assert.deepEqual(ruleValuesOf('ann@[192.0.2.1]'), ['ann@[192.0.2.1]'])
  assert.deepEqual(ruleValuesOf(''), [])
  assert.deepEqual(ruleValuesOf('ann'), [])
})

test('an invalid address still belongs to its domain', () => {
  for (const address of [
    'a..b@evil.example',
    'a b@evil.example',
    'ann@EVIL.example.',
    '@evil.example',
  ]) {
    assert.deepEqual(ruleValuesOf(address), ['evil.example'], address)
  }
})

test('additional dots neither avoid a block nor gain an allowance', () => {
  for (const address of [
    'spam@evil.example.',
    'spam@evil.example..',
    'spam.@evil.example',
    '.spam@evil..example',
    '"spam"@evil.example.',
  ]) {
    const sender = { fromAddress: address, reversePath: '', isVerified: true }
    assert.ok(candidateValuesOf(sender).includes('spam@evil.example'), address)
    for (const value of ['spam@evil.example', 'evil.example']) {
      assert.equal(isAdmitted(sender, rule('block', value)), false, `${value} ${address}`)
    }
    assert.equal(isAllowed(sender, rule('allow', 'spam@evil.example')), false, address)
  }
})

test('mail of an unverified sender whose rule requires verification is kept for that reason', () => {
  const to = { ...TO, filterMode: 'allowlist' } as const
  const forged = { ...ANN, isVerified: false }
  const refused = { kind: 'kept_out', reason: 'not_verified', ruleId: null }
  assert.deepEqual(judgeSender([rule('allow', 'sender.example')], forged, to), refused)
  const elsewhere = rule('allow', 'sender.example', { podId: 'other' })
  const unknown = { ...refused, reason: 'not_allowed' }
  assert.deepEqual(judgeSender([elsewhere], forged, to), unknown)
})

test('a domain of any length has a bounded number of values', () => {
  const values = ruleValuesOf(`ann@${'a.'.repeat(1_000_000)}evil.example`)
  assert.ok(values.length <= DOMAIN_LENGTH_MAX)
  assert.ok(values.includes('evil.example'))
})

const TO = { podId: 'pod', inboxId: 'inbox' }
const ANN: Sender = {
  fromAddress: 'ann@mail.sender.example',
  reversePath: 'bounce@esp.example',
  isVerified: true,
}
let rules = 0

function rule(
  type: 'allow' | 'block',
  value: string,
  fields: Partial<DecidingRule> = {},
): DecidingRule {
  rules += 1
  const id = `rul_${String(rules).padStart(6, '0')}`
  return {
    id,
    type,
    value,
    podId: null,
    inboxId: null,
    requireVerified: type === 'allow',
    ...fields,
  }
}

const isAdmitted = (sender: Sender, ...some: DecidingRule[]) =>
  judgeSender(some, sender, { ...TO, filterMode: 'none' }).kind === 'admitted'
const isAllowed = (sender: Sender, ...some: DecidingRule[]) =>
  judgeSender(some, sender, { ...TO, filterMode: 'allowlist' }).kind === 'admitted'

test('without rules everybody is admitted, or nobody in allowlist mode', () => {
  const to = { ...TO, filterMode: 'allowlist' } as const
  assert.equal(isAdmitted(ANN), true)
  const refused = { kind: 'kept_out', reason: 'not_allowed', ruleId: null }
  assert.deepEqual(judgeSender([], ANN, to), refused)
})

test('a block names its rule, in either mode', () => {
  const block = rule('block', 'sender.example')
  for (const filterMode of ['none', 'allowlist'] as const) {
    const verdict = judgeSender([block], ANN, { ...TO, filterMode })
    assert.deepEqual(verdict, { kind: 'kept_out', reason: 'blocked', ruleId: block.id })
  }
})

test('an address has precedence over a domain, and a longer domain over a shorter', () => {
  const [address, longer, shorter] = [
    ANN.fromAddress ?? '',
    'mail.sender.example',
    'sender.example',
  ]
  for (const [near, far] of [
    [address, longer],
    [longer, shorter],
    [address, shorter],
  ] as const) {
    assert.equal(isAdmitted(ANN, rule('allow', near), rule('block', far)), true)
    assert.equal(isAllowed(ANN, rule('block', near), rule('allow', far)), false)
  }
})

test('a narrower scope has precedence over a more specific sender, for senders as for recipients', () => {
  const here = rule('allow', 'sender.example', { inboxId: 'inbox', podId: 'pod' })
  const everywhere = rule('block', ANN.fromAddress ?? '')
  assert.equal(isAdmitted(ANN, everywhere, here), true)
  assert.equal(decidingRecipientRule([everywhere, here], ANN.fromAddress ?? ''), here)
})

test('a rule of the inbox has precedence over one of its pod, and that over one of the account', () => {
  const scopes = [{ inboxId: 'inbox', podId: 'pod' }, { podId: 'pod' }, {}]
  for (const [near, far] of [
    [0, 1],
    [1, 2],
    [0, 2],
  ] as const) {
    const allow = rule('allow', 'sender.example', scopes[near])
    assert.equal(isAdmitted(ANN, rule('block', 'sender.example', scopes[far]), allow), true)
    const block = rule('block', 'sender.example', scopes[near])
    assert.equal(isAllowed(ANN, rule('allow', 'sender.example', scopes[far]), block), false)
  }
})

test('rules of another inbox and of another pod do not apply', () => {
  const elsewhere = [{ podId: 'other' }, { podId: 'pod', inboxId: 'other' }]
  for (const scope of elsewhere) {
    assert.equal(isAdmitted(ANN, rule('block', 'sender.example', scope)), true)
    assert.equal(isAllowed(ANN, rule('allow', 'sender.example', scope)), false)
  }
})

test('of otherwise equal rules block has precedence over allow', () => {
  const both = [rule('allow', 'sender.example'), rule('block', 'sender.example')]
  assert.equal(isAllowed(ANN, ...both), false)
  assert.equal(isAllowed(ANN, ...both.toReversed()), false)
})

test('allow applies to verified senders, or to any if the rule says so', () => {
  const forged = { ...ANN, isVerified: false }
  const strict = rule('allow', 'ann@mail.sender.example')
  const lax = rule('allow', 'ann@mail.sender.example', { requireVerified: false })
  assert.deepEqual([isAllowed(ANN, strict), isAllowed(forged, strict)], [true, false])
  assert.deepEqual([isAllowed(ANN, lax), isAllowed(forged, lax)], [true, true])
  assert.equal(isAdmitted(forged, strict, rule('block', 'sender.example')), false)
})

test('block applies to From and to the reverse-path, verified or not, allow only to From', () => {
  for (const isVerified of [true, false]) {
    for (const value of ['sender.example', 'esp.example', 'bounce@esp.example']) {
      assert.equal(isAdmitted({ ...ANN, isVerified }, rule('block', value)), false, value)
    }
  }
  assert.equal(isAllowed(ANN, rule('allow', 'esp.example')), false)
  const nobody = { fromAddress: null, reversePath: '', isVerified: false }
  assert.equal(isAdmitted(nobody, rule('block', 'sender.example')), true)
  assert.equal(isAllowed(nobody, rule('allow', 'sender.example')), false)
})

const LOCAL = fc.constantFrom('ann', 'bob')
const DOMAIN = fc.constantFrom('a.example', 'b.a.example', 'c.b.a.example', 'z.example')
const ADDRESS = fc.tuple(LOCAL, DOMAIN).map(([local, domain]) => `${local}@${domain}`)
const SENDER = fc.record({
  fromAddress: fc.option(ADDRESS),
  reversePath: fc.oneof(ADDRESS, fc.constant('')),
  isVerified: fc.boolean(),
})
const SCOPE = fc.constantFrom(
  { podId: null, inboxId: null },
  { podId: 'pod', inboxId: null },
  { podId: 'pod', inboxId: 'inbox' },
  { podId: 'pod', inboxId: 'other' },
  { podId: 'other', inboxId: null },
)
const RULES = fc
  .array(
    fc.record({
      type: fc.constantFrom('allow' as const, 'block' as const),
      value: fc.oneof(ADDRESS, DOMAIN),
      scope: SCOPE,
      requireVerified: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((some) =>
    some.map(({ scope, ...rest }, index) => ({ id: `rul_${index}`, ...rest, ...scope })),
  )
const MODE = fc.constantFrom('none' as const, 'allowlist' as const)

/** The rules of precedence in plain form: the first place with a rule decides. */
function firstOf(some: readonly DecidingRule[], sender: Sender): DecidingRule | undefined {
  const depth = (value: string) => (value.includes('@') ? 100 : value.split('.').length)
  for (const scope of [{ inboxId: 'inbox' }, { podId: 'pod', inboxId: null }, { podId: null }]) {
    for (let level = 100; level > 0; level -= 1) {
      for (const type of ['block', 'allow']) {
        const found = some.find((one) => {
          if (one.type !== type || depth(one.value) !== level) return false
          if (Object.entries(scope).some(([name, value]) => Reflect.get(one, name) !== value))
            return false
          const heard =
            type === 'block' ? [sender.fromAddress, sender.reversePath] : [sender.fromAddress]
          const isNamed = heard.some(
            (address) =>
              address === one.value || `.${address?.split('@')[1]}`.endsWith(`.${one.value}`),
          )
          return isNamed && (type === 'block' || sender.isVerified || !one.requireVerified)
        })
        if (found !== undefined) return found
      }
    }
  }
  return undefined
}

test('the verdict is that of the first rule in the order of precedence', () => {
  fc.assert(
    fc.property(RULES, SENDER, MODE, (some, sender, filterMode) => {
      const verdict = judgeSender(some, sender, { ...TO, filterMode })
      const first = firstOf(some, sender)
      const isIn = first === undefined ? filterMode === 'none' : first.type === 'allow'
      assert.equal(verdict.kind, isIn ? 'admitted' : 'kept_out')
      if (verdict.kind === 'kept_out') {
        assert.equal(verdict.reason === 'blocked', first !== undefined)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('the order of the rules does not matter, nor do rules without a candidate value', () => {
  fc.assert(
    fc.property(RULES, SENDER, MODE, (some, sender, filterMode) => {
      const to = { ...TO, filterMode }
      const verdict = judgeSender(some, sender, to)
      assert.deepEqual(judgeSender(some.toReversed(), sender, to), verdict)
      const values = candidateValuesOf(sender)
      const found = some.filter(({ value }) => values.includes(value))
      assert.deepEqual(judgeSender(found, sender, to), verdict)
    }),
  )
})

test('the value of a rule for a domain is among those of every address below it', () => {
  fc.assert(
    fc.property(fc.domain(), fc.domain(), (above, below) => {
      const read = compareValue(above)
      fc.pre(read.kind === 'value' && above.length + below.length < DOMAIN_LENGTH_MAX)
      if (read.kind !== 'value') return
      for (const domain of [above, `${below}.${above}`, above.toUpperCase()]) {
        assert.ok(ruleValuesOf(`ann@${domain}`).includes(read.value), domain)
      }
    }),
  )
})

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      compareValue(text)
      ruleValuesOf(text)
      ruleValuesOf(`a@${text}`)
    }),
  )
})
