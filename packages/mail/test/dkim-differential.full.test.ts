import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import {
  DOMAIN,
  NOW_MS,
  octets,
  privateKey,
  SELECTOR,
  signer,
  splitSigned,
  tag,
  verdicts,
} from './dkim-samples.ts'
import { type Dice, seededDice } from './seeded-dice.ts'

const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const GENERATED = 400

/** The body hash of the other signer. */
async function theirBodyHash(raw: Uint8Array): Promise<string> {
  const { signatures, errors } = await dkimSign(Buffer.from(raw), {
    signingDomain: DOMAIN,
    selector: SELECTOR,
    privateKey: PEM,
    canonicalization: 'relaxed/relaxed',
    algorithm: 'rsa-sha256',
    signTime: new Date(NOW_MS),
    signatureData: [{ signingDomain: DOMAIN, selector: SELECTOR, privateKey: PEM }],
  })
  assert.deepEqual(errors, [])
  return tag(splitSigned(Buffer.from(signatures)).field, 'bh')
}

async function compare(raw: Uint8Array, name: string): Promise<void> {
  const signed = await signer.sign(raw, NOW_MS)
  assert.equal(tag(splitSigned(signed).field, 'bh'), await theirBodyHash(raw), name)
  assert.equal((await verdicts(signed))[0], 'pass', name)
}

test(`${GENERATED} generated messages have the same hashes as another signer's, and verify`, async () => {
  const dice = seededDice(20_240_101)
  for (let i = 0; i < GENERATED; i += 1) await compare(generateMessage(dice), `message ${i}`)
})

const PIECES = ['a', 'word', ' ', '  ', '\t', ' \t ', '.', '=', ';', '\xe9', '\xa0', '\0', '\x0b']
const NAMES = ['Subject', 'To', 'References', 'X-Other', 'content-type', 'RECEIVED', 'Reply-To ']

function generateMessage(dice: Dice): Buffer {
  const fields = Array.from({ length: dice(6) }, () => {
    const continuations = Array.from({ length: dice(3) }, () => `\r\n ${line(dice)}x`)
    return `${NAMES[dice(NAMES.length)]}:${line(dice)}${continuations.join('')}`
  })
  const body = Array.from({ length: dice(8) }, () => (dice(3) === 0 ? '' : line(dice)))
  const end = dice(3) === 0 ? '' : '\r\n'.repeat(dice(4))
  return octets('From: a@sender.example', ...fields, '', body.join('\r\n') + end)
}

function line(dice: Dice): string {
  return Array.from({ length: dice(8) }, () => PIECES[dice(PIECES.length)]).join('')
}
