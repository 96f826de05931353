import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignatureThread } from '#inbound/authenticate/signature-checker.ts'
import { silentLog } from '#platform/log.ts'
import type { Zone } from '#test/peers/dns.ts'
import { makeSigningKey, signMail } from '#test/peers/signed-mail.ts'
import { plainMail } from '#test/world.ts'
import { openAuthenticateWorld } from './authenticate-world.ts'

const key = makeSigningKey()
const ZONE: Zone = { 's1._domainkey.sender.example': { TXT: [key.record] } }
const reversePath = 'x@relay.example'

const sign = (tags = '') =>
  `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=evil.example; s=a; bh=AAAA;${tags} b=AAAA\r\n`
const one = sign(' h=from;')
const rest = plainMail({})
const folded = `${one}X: a\r\n${' \r\n'.repeat(80_000)}${rest}`

const HOSTILE: Record<string, string> = {
  'many folded lines': folded,
  'many lines without a colon': `${one}From: a@evil.example\r\n${'b\r\n'.repeat(60_000)}${rest}`,
  'a long stretch of white space': `${one}X${' '.repeat(200_000)}y: z\r\n${rest}`,
  'many carriage returns': `${one}X: ${'\r'.repeat(200_000)}y\r\n${rest}`,
  'more names in h= than a message has fields': sign(` h=from${':a'.repeat(300)};`) + rest,
  'a From field of many addresses': `${one}From: ${'a,'.repeat(100_000)}\r\n${rest}`,
  'a line of 20 MiB': `${one}From: a@evil.example\r\n\r\n${'a'.repeat(20 << 20)}`,
  'millions of lines': `${one}From: a@evil.example\r\n\r\n${' \r\n'.repeat(5 << 20)}`,
}

for (const [what, raw] of Object.entries(HOSTILE)) {
  test(`a signature with ${what} is not checked, and delays nobody`, async (t) => {
    const { judge } = await openAuthenticateWorld(t, ZONE)
    const good = await signMail(rest, { key })
    assert.equal((await judge({ raw: good, reversePath })).verifiedFrom, true)
    const startMs = performance.now()
    const [hostile, genuine] = await Promise.all([
      judge({ raw, reversePath }),
      judge({ raw: good, reversePath }),
    ])
    const tookMs = performance.now() - startMs
    assert.equal(hostile.dkim[0]?.result, 'policy')
    assert.equal(genuine.verifiedFrom, true)
    assert.ok(tookMs < 15_000, `took ${tookMs} ms`)
  })
}

test('two ways to hash the body are checked, and no third', async (t) => {
  const { judge } = await openAuthenticateWorld(t, ZONE)
  const body = rest.length - rest.indexOf('\r\n\r\n') - 4
  let raw: Buffer = Buffer.from(rest)
  for (const canonicalization of ['simple/simple', 'relaxed/relaxed', 'simple/simple']) {
    raw = await signMail(raw, { key, canonicalization })
  }
  raw = await signMail(raw, { key, maxBodyLength: body })
  const { dkim } = await judge({ raw })
  assert.deepEqual(
    dkim.map(({ result }) => result),
    ['pass', 'pass', 'policy', 'pass'],
  )
})

test('a key in a record of more than four kilobytes is refused by policy', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {
    's1._domainkey.sender.example': { TXT: [`${key.record}; n=${'x'.repeat(5_000)}`] },
  })
  const { dkim } = await judge({ raw: await signMail(rest, { key }) })
  assert.equal(dkim[0]?.result, 'policy')
})

test('a stuck thread is ended, and the mail of others is verified in a new one', async (t) => {
  const records = [key.record]
  const thread = new SignatureThread({
    findKeys: async () => ({ kind: 'found', records, ttlMs: 60_000 }),
    log: silentLog,
  })
  t.after(() => thread.close())
  const options = { nowMs: Date.now(), keysMs: 20_000, allMs: 30_000 }
  const good = await signMail(rest, { key })
  await thread.check(good, options)
  const bomb = thread.check(Buffer.from(folded), options)
  const after = [thread.check(good, options), thread.check(good, options)]
  assert.equal(await bomb, 'stuck')
  for (const outcome of await Promise.all(after)) {
    assert.ok(typeof outcome === 'object', `is ${outcome}`)
    assert.equal(outcome.dkim[0]?.result, 'pass')
  }
})

test('waiting for keys does not count as stuck, and results in time are kept', async (t) => {
  const thread = new SignatureThread({
    findKeys: (name) =>
      name.startsWith('never')
        ? new Promise(() => {})
        : Promise.resolve({ kind: 'found', records: [key.record], ttlMs: 60_000 }),
    log: silentLog,
  })
  t.after(() => thread.close())
  const inner = await signMail(rest, { key })
  const raw = await signMail(inner, { key, selector: 'never' })
  const outcome = await thread.check(raw, { nowMs: Date.now(), keysMs: 4_000, allMs: 30_000 })
  assert.ok(typeof outcome === 'object', `is ${outcome}`)
  assert.deepEqual(
    outcome.dkim.map(({ result }) => result),
    ['temperror', 'pass'],
  )
})
