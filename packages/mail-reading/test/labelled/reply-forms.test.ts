import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { message } from '@mailroom/mail/test/samples.ts'
import { parseMessage } from '#parse-message.ts'
import { extractReply } from '#reply/reply-text.ts'
import forms from './reply-forms.json' with { type: 'json' }

const OWN = 'Thursday suits us.\n\nPlease use gate B.'
const MARKED = '> The crate can come on Tuesday.\n> Which gate?\n'
const PLAIN = 'The crate can come on Tuesday.\nWhich gate?\n'

type Case = { readonly name: string; readonly found: string; readonly expected: string }

const below = (heads: readonly string[], quote: string): Case[] =>
  heads.map((head) => ({
    name: head,
    found: extractReply(`${OWN}\n\n${head}\n\n${quote}`),
    expected: OWN,
  }))

/**
 * How mail programs introduced the message that they quote in 2026. Attributions `namesAlone` have no address and
 * are recognised only above a marked quote; `heads` are above a quote without marks; `traps` only look as if they
 * quoted; the whole text of `forwards` is new to its reader. Every third form of a class was held out before the
 * rules were changed.
 */
const CLASSES: [string, readonly Case[]][] = [
  ...Object.entries(forms.attributions).flatMap(([name, lines]): [string, Case[]][] => [
    [`${name}, above a marked quote`, below(lines, MARKED)],
    [`${name}, above a quote without marks`, below(lines, PLAIN)],
    [`${name}, wrapped`, below(lines.map(wrapped), MARKED)],
  ]),
  ...Object.entries(forms.heads).map(([name, heads]): [string, Case[]] => [
    name,
    below(heads, PLAIN),
  ]),
  ...Object.entries(forms.namesAlone).map(([name, heads]): [string, Case[]] => [
    name,
    below(heads, MARKED),
  ]),
  ['traps', forms.traps.map((text) => ({ name: text, found: extractReply(text), expected: text }))],
  [
    'forwards',
    forms.forwards.map(({ subject, text }) => ({
      name: subject,
      found: parseMessage(
        message(`Subject: ${subject}`, 'Content-Type: text/plain; charset=utf-8', '', text),
      ).extractedText,
      expected: text,
    })),
  ],
]

function wrapped(line: string): string {
  const at = line.lastIndexOf(' ', 76)
  return line.length <= 76 || at <= 0 ? line : `${line.slice(0, at)}\n${line.slice(at + 1)}`
}

const flat = (text: string) => text.replace(/\s+/g, ' ').trim()
const isRight = ({ found, expected }: Case) => flat(found) === flat(expected)

describe('the new text of a reply in the forms of mail programs', () => {
  for (const [name, cases] of CLASSES) {
    test(`${name}: every form that the rules were made with, nine of ten that were held out`, () => {
      const used = cases.filter((_, index) => index % 3 !== 2)
      for (const one of used) assert.equal(flat(one.found), flat(one.expected), one.name)
      const wrong = cases.filter((one, index) => index % 3 === 2 && !isRight(one))
      assert.ok(wrong.length * 10 <= cases.length / 3 + 3, wrong.map((one) => one.name).join('\n'))
    })
  }
})

test('a reply to a message that was passed on loses its quote', () => {
  const text =
    'Yes.\n\nVon: Ann <ann@lund.example>\nGesendet: Montag, 16. November 2026 09:12\nBetreff: WG: Kiste\n\nPasst das?'
  const read = (...fields: string[]) => parseMessage(message(...fields, '', text)).extractedText
  assert.equal(read('Subject: AW: WG: Kiste'), 'Yes.')
  assert.equal(read('Subject: VS: Kasse', 'In-Reply-To: <a@lund.example>'), 'Yes.')
  assert.equal(read('Subject: VS: Kasse'), text)
})
