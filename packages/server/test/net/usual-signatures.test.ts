import assert from 'node:assert/strict'
import crypto, { sign } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { describe, test } from 'node:test'
import { readSignatureFields } from '@mailroom/mail/authentication.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { readUsualSignature } from '@mailroom/mail/usual-signature.ts'
import { checkSignatures } from '#inbound/authenticate/check-signatures.ts'
import type { KeyAnswer } from '#inbound/authenticate/signature-keys.ts'
import { UsualSignatures } from '#inbound/authenticate/usual-signatures.ts'
import {
  makeEdwardsKey,
  makeSigningKey,
  type SigningKey,
  signMail,
} from '#test/peers/signed-mail.ts'

/** Of the places in a header section that are changed; a quick run changes fewer. */
const STRIDE = sizeOf('TEST_MAILROOM_SIGNATURE_STRIDE', { quick: 23, usual: 5 })

const key = makeSigningKey()
const NAME = 's1._domainkey.sender.example'
const BODY = 'Hello  there, \r\n\r\n\ta line\t with  white space \r\nthe end\r\n\r\n'
const RAW = [
  'Received: by relay.example',
  'From: "Ann B." <Ann.B@Sender.example>',
  'To: box@mailroom.example,',
  '\t other@mailroom.example',
  'Subject:   two  words ',
  'Message-ID: <1@sender.example>',
  'Date: Mon, 1 Jan 2024 00:00:00 +0000',
  '',
  BODY,
].join('\r\n')

const answerOf = (...records: string[]): KeyAnswer => ({ kind: 'found', records, ttlMs: 60_000 })

function openUsual(signing: SigningKey = key, tags = '') {
  const usual = new UsualSignatures()
  usual.learn(NAME, answerOf(`${signing.record}${tags}`))
  return usual
}

const check = (usual: UsualSignatures, raw: Buffer, nowMs = Date.now()) =>
  usual.check(raw, readSignatureFields(raw), nowMs)

/** By mailauth. */
const checkWhole = (raw: Buffer, nowMs = Date.now()) =>
  checkSignatures(raw, { findKeys: async () => answerOf(key.record), nowMs })

describe('a signature of the usual form', () => {
  for (const canonicalization of ['relaxed/relaxed', 'relaxed/simple']) {
    test(`that is good is found good, with the results of the whole check: ${canonicalization}`, async () => {
      const usual = openUsual()
      const expires = new Date(Date.now() + 60_000)
      for (const body of [BODY, '', '\r\n', 'a\r\n', ' \r\n', 'a\r\n\r\n\r\n', '\xe9\0\x0b \r\n']) {
        const raw = Buffer.from(RAW.replace(BODY, body), 'latin1')
        for (const more of [{}, { expires }]) {
          const signed = await signMail(raw, { key, canonicalization, ...more })
          const found = await check(usual, signed)
          // A body without any line end has none to sign.
          if (body === '' && canonicalization === 'relaxed/simple') assert.equal(found, null)
          else assert.deepEqual(found, await checkWhole(signed))
        }
      }
    })
  }

  test('is not found good where the key may not be used, or is not known', async () => {
    const signed = await signMail(RAW, { key })
    const [small, large, other] = [makeSigningKey(768), makeSigningKey(3072), makeSigningKey()]
    const edwards = makeEdwardsKey()
    const unknown = new UsualSignatures()
    assert.equal(await check(unknown, signed), null)
    unknown.learn(NAME, answerOf(key.record, other.record))
    unknown.learn(NAME, { kind: 'found', records: [key.record], ttlMs: 0 })
    unknown.learn('s2._domainkey.sender.example', answerOf(key.record))
    assert.equal(await check(unknown, signed), null)
    assert.equal(await check(openUsual(other), signed), null)
    for (const tags of ['; h=sha1', '; s=chat', '; k=ed25519', '; v=DKIM1', '; p=']) {
      assert.equal(await check(openUsual(key, tags), signed), null, tags)
    }
    for (const signing of [small, large, edwards]) {
      const algorithm = signing === edwards ? 'ed25519-sha256' : 'rsa-sha256'
      const mail = await signMail(RAW, { key: signing, algorithm })
      assert.equal(await check(openUsual(signing), mail), null)
    }
    assert.notEqual(await check(openUsual(key, '; t=y:s; n=note'), signed), null)
  })

  test('counts on the latest record alone, and on no long one', async () => {
    const signed = await signMail(RAW, { key })
    const usual = openUsual()
    assert.notEqual(await check(usual, signed), null)
    const later: KeyAnswer[] = [
      answerOf('v=DKIM1; k=rsa; p='),
      answerOf(key.record, key.record),
      { kind: 'none', isNameMissing: true, ttlMs: 60_000 },
      { kind: 'fault', text: 'no answer' },
      { kind: 'found', records: [key.record], ttlMs: 0 },
      answerOf(`${key.record}; n=${'note'.repeat(100)}`),
    ]
    for (const answer of later) {
      usual.learn(NAME, answerOf(key.record))
      usual.learn(NAME, answer)
      assert.equal(await check(usual, signed), null, JSON.stringify(answer))
    }
  })

  test('parses the key of a message that needs it, and no other', async (t) => {
    const usual = new UsualSignatures()
    const signed = await signMail(RAW, { key })
    const twice = await signMail(signed, { key, selector: 's2' })
    const other = makeSigningKey()
    const parsing = t.mock.method(crypto, 'createPublicKey')
    syncBuiltinESMExports()
    t.after(() => {
      parsing.mock.restore()
      syncBuiltinESMExports()
    })
    for (const selector of ['s1', 's2', 's3']) {
      usual.learn(`${selector}._domainkey.sender.example`, answerOf(other.record))
    }
    assert.equal(await check(usual, twice), null)
    assert.equal(parsing.mock.callCount(), 0)
    for (let count = 0; count < 3; count += 1) assert.equal(await check(usual, signed), null)
    // Once by mailauth, once for its result.
    assert.equal(parsing.mock.callCount(), 2)
  })

  test('is left to the whole check where anything is unusual', async () => {
    const usual = openUsual()
    const sign = (raw: string, more = {}) => signMail(Buffer.from(raw, 'latin1'), { key, ...more })
    const expires = new Date(Date.now() - 60_000)
    const signTime = new Date(Date.now() - 120_000)
    const twice = await sign((await sign(RAW)).toString('latin1'))
    const wide = (await sign(RAW))
      .toString('latin1')
      .replace(/(?<= b=)[^;:]+(?=\r\nReceived:)/, (b) =>
        Array.from(b.replace(/\s/g, '')).join(`\r\n${' '.repeat(15)}`),
      )
    const unusual: Record<string, Buffer> = {
      'two signatures': twice,
      'an expired one': await sign(RAW, { expires, signTime }),
      'a part of the body': await sign(RAW, { maxBodyLength: 5 }),
      'simple header fields': await sign(RAW, { canonicalization: 'simple/simple' }),
      'two subjects': await sign(`Subject: a\r\n${RAW}`),
      'two From fields': await sign(`From: b@sender.example\r\n${RAW}`),
      'two authors': await sign(RAW.replace('>', '>, b@sender.example')),
      'a comment in From': await sign(RAW.replace('>', '> (c)')),
      'an address in the name': await sign(RAW.replace('Ann B.', 'a@b.example')),
      'white space before a colon': await sign(RAW.replace('Subject:', 'Subject :')),
      'octets above ASCII': await sign(RAW.replace('two', '\xe9')),
      'a line feed alone': await sign(RAW.replace('there', 'a\nb')),
      'a carriage return alone': await sign(RAW.replace('there', 'a\rb')),
      'a line that is no field': await sign(`no field\r\n${RAW}`),
      'more than 32 KiB': await sign(RAW + 'a\r\n'.repeat(20_000)),
      'a long signature field': Buffer.from(wide),
      'fields of ARC': await sign(`ARC-Seal: i=1\r\n${RAW}`),
    }
    for (const [what, raw] of Object.entries(unusual))
      assert.equal(await check(usual, raw), null, what)
  })

  test('is never found good where the whole check finds another result', async () => {
    const usual = openUsual()
    const signed = await signMail(RAW, { key })
    const text = signed.toString('latin1')
    const section = text.slice(0, text.indexOf('\r\n\r\n'))
    const pieces = [
      '',
      ' ',
      '\t',
      '\r\n ',
      ';',
      '=',
      ':',
      'a',
      'A',
      '\0',
      '\xe9',
      ' b=',
      '; l=0',
      '\r\n',
    ]
    const more = [text.replace(' v=1;', ' v=1; i=x@b.sender.example;')]
    let good = 0
    for (let at = 0; at < text.length; at += at < section.length ? 3 : 40) {
      for (const [index, piece] of pieces.entries()) {
        const length = (at + index) % 3
        more.push(text.slice(0, at) + piece + text.slice(at + length))
      }
    }
    for (const changed of more) {
      const raw = Buffer.from(changed, 'latin1')
      // Keys are kept for five seconds, and a busy machine takes longer.
      usual.learn(NAME, answerOf(key.record))
      const found = await check(usual, raw)
      if (found === null) continue
      good += 1
      assert.deepEqual(found, await checkWhole(raw), JSON.stringify(changed.slice(0, 600)))
    }
    assert.ok(good > 100, `${good} of ${more.length}`)
  })

  test('is good for the whole check too where the signer has signed what is read', async () => {
    const text = (await signMail(RAW, { key })).toString('latin1')
    const section = text.slice(0, text.indexOf('\r\n\r\n'))
    const signature = /(?<= b=)[^;:]+(?=\r\nReceived:)/
    const pieces = [
      ...[' ', '\t ', '\r\n ', '\r\n \r\n\t', '\r\n', ' \r\nx', '\0', '\x7f', '\xa0', '\xe9'],
      ...['a', 'A', '.', ':', ';', '=', ',', '"', '(c)', '<', '>', '@', '\\', '%', '-', '_'],
      ...['\r\nSubject: b', '\r\nFrom: b@sender.example', '\r\nDKIM-Signature: v=1', '\r\nfrom'],
      ...[
        '; l=0',
        '; t=9999999999',
        '; x=1',
        '; i=b@a.sender.example',
        '; i=@SENDER.example',
        '; v=1',
      ],
    ]
    let good = 0
    for (let at = 0; at < section.length; at += STRIDE) {
      for (const [index, piece] of pieces.entries()) {
        const length = (at + index) % 3
        const changed = text.slice(0, at) + piece + text.slice(at + length)
        const read = readUsualSignature(Buffer.from(changed, 'latin1'), Date.now())
        if (read === null) continue
        const again = sign('sha256', read.data, key.pem).toString('base64')
        const raw = Buffer.from(changed.replace(signature, again), 'latin1')
        const usual = openUsual()
        usual.learn(`${read.selector}._domainkey.${read.domain}`, answerOf(key.record))
        const found = await check(usual, raw)
        if (found === null) continue
        good += 1
        assert.deepEqual(found, await checkWhole(raw), JSON.stringify(changed.slice(0, 600)))
      }
    }
    assert.ok(good > 2_500 / STRIDE, `${good}`)
  })
})
