import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { stillClock } from '#test/conformance/delivering.ts'
import { makeSigningKey, signMail } from '#test/peers/signed-mail.ts'
import { plainMail } from '#test/world.ts'
import { openAuthenticateWorld } from './authenticate-world.ts'

const key = makeSigningKey()

test('the queries of SPF, DKIM and DMARC are sent concurrently', async (t) => {
  const names = [
    'bounce.example',
    's1._domainkey.news.sender.example',
    's2._domainkey.sender.example',
    '_dmarc.news.sender.example',
    '_dmarc.sender.example',
    '_dmarc.example',
  ]
  // None is ever answered, so every query was sent without waiting for an answer.
  const { dns, judge } = await openAuthenticateWorld(
    t,
    Object.fromEntries(names.map((name) => [name, 'silent' as const])),
  )
  const inner = await signMail(plainMail({ from: 'a@news.sender.example' }), {
    key,
    domain: 'news.sender.example',
  })
  const raw = await signMail(inner, { key, domain: 'sender.example', selector: 's2' })
  let isJudged = false
  const judging = judge({ raw, reversePath: 'x@bounce.example' }).then(() => {
    isJudged = true
  })
  const isAsked = () => names.every((name) => dns.countAsked(name, 'TXT') > 0)
  while (!isAsked() && !isJudged) await sleep(5)
  assert.deepEqual(
    names.filter((name) => dns.countAsked(name, 'TXT') === 0),
    [],
  )
  await judging
})

for (const answer of ['nxdomain', 'servfail', 'refused'] as const) {
  test(`a resolver that answers ${answer} without a TTL is queried once for similar mail`, async (t) => {
    const names = ['sender.example', '_dmarc.sender.example', '_dmarc.example']
    const { dns, judge } = await openAuthenticateWorld(
      t,
      Object.fromEntries(names.map((name) => [name, answer])),
      stillClock(Date.now()),
    )
    const results = new Set<string>()
    for (let message = 0; message < 10; message++) {
      const { spf } = await judge({ reversePath: `r${message}@sender.example` })
      results.add(spf.result)
    }
    assert.deepEqual([...results], [answer === 'nxdomain' ? 'none' : 'temperror'])
    for (const name of names) assert.equal(dns.countAsked(name), 1, name)
  })
}
