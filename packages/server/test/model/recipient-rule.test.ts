import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decidingRecipientRule,
  type RecipientRule,
  recipientValuesOf,
} from '#policy/match-recipient.ts'

type Width = 'account' | 'pod' | 'inbox'

/** A rule as `inbox allow a.example`; its id is the text. */
function rule(text: string): RecipientRule {
  const [width, type, value] = text.split(' ') as [Width, 'allow' | 'block', string]
  return {
    id: text,
    type,
    value,
    podId: width === 'account' ? null : 'pod_1',
    inboxId: width === 'inbox' ? 'inb_1' : null,
  }
}

const DECIDED: [rules: string[], address: string, deciding: string | null][] = [
  [['account allow a.example'], 'ann@a.example', 'account allow a.example'],
  [['account allow a.example'], 'ann@b.a.example', 'account allow a.example'],
  [['account allow a.example'], 'ann@example', null],
  [['account allow a.example'], 'ann@ba.example', null],
  [['account allow *.a.example'], 'ann@a.example', null],
  [['account allow *.a.example'], 'ann@b.a.example', 'account allow *.a.example'],
  [['account allow *.a.example'], 'ann@c.b.a.example', 'account allow *.a.example'],
  // The narrower width first, whatever the values.
  [['account block ann@a.example', 'pod allow a.example'], 'ann@a.example', 'pod allow a.example'],
  [['pod allow ann@a.example', 'inbox block a.example'], 'ann@a.example', 'inbox block a.example'],
  // Then an address before a domain, a longer one before a shorter one.
  [['account block ann@a.example'], '"ann+t"@a.example', 'account block ann@a.example'],
  [['account block ann@a.example'], '"a\\nn+t"@a.example', 'account block ann@a.example'],
  [['pod block a.example', 'pod allow ann@a.example'], 'ann@a.example', 'pod allow ann@a.example'],
  [['pod block a.example', 'pod allow b.a.example'], 'ann@b.a.example', 'pod allow b.a.example'],
  [['pod allow a.example', 'pod block *.a.example'], 'ann@b.a.example', 'pod block *.a.example'],
  [['pod block *.a.example', 'pod allow b.a.example'], 'ann@b.a.example', 'pod allow b.a.example'],
  // Then block before allow.
  [['pod allow a.example', 'pod block a.example'], 'ann@a.example', 'pod block a.example'],
  // A block cannot be evaded by a tag, a dot or another spelling; an allow is exact.
  [['pod block ann@a.example'], 'Ann+x@A.example', 'pod block ann@a.example'],
  [['pod block ann@a.example'], '"ann"@a.example', 'pod block ann@a.example'],
  [['pod block ann@a.example'], 'ann@a.example.', 'pod block ann@a.example'],
  [['pod allow ann@a.example'], 'ann+x@a.example', null],
  [['pod block ann@a.example'], 'bob+ann@a.example', null],
]

for (const [rules, address, deciding] of DECIDED) {
  test(`of ${rules.join(', ')} for ${address} ${deciding ?? 'none'} decides`, () => {
    for (const order of [rules, rules.toReversed()]) {
      assert.equal(decidingRecipientRule(order.map(rule), address)?.id ?? null, deciding)
    }
  })
}

test('a rule that decides is among the values that are looked up', () => {
  for (const [rules, address, deciding] of DECIDED) {
    if (deciding === null) continue
    const { value } = rule(rules.find((text) => text === deciding) ?? '')
    assert.ok(recipientValuesOf(address).includes(value), address)
  }
})
