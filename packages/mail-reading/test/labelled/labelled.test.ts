import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { extractFrom } from '#extract/extract.ts'
import { parseMessage } from '#parse-message.ts'
import { extractReply } from '#reply/reply-text.ts'
import { notice, onlyOf, RETURNED, read, standard } from '#test/report-samples.ts'
import bounceWords from './bounce-words.json' with { type: 'json' }
import bounces from './bounces.json' with { type: 'json' }
import codes from './codes.json' with { type: 'json' }
import dates from './dates.json' with { type: 'json' }
import links from './links.json' with { type: 'json' }
import names from './names.json' with { type: 'json' }
import recipients from './recipients.json' with { type: 'json' }
import replies from './replies.json' with { type: 'json' }

type Labelled<Input> = readonly { readonly input: Input; readonly expected: unknown }[]

/** Every third case of a file is held out: no rule is made to fit it. */
function areReadAsLabelled<Input>(
  name: string,
  cases: Labelled<Input>,
  found: (input: Input) => unknown,
): void {
  const isHeldOut = (index: number) => index % 3 === 2
  describe(`${name} are read as labelled`, () => {
    for (const { input, expected } of cases.filter((_, index) => !isHeldOut(index))) {
      test(typeof input === 'string' ? input : JSON.stringify(input), () =>
        assert.deepEqual(found(input), expected),
      )
    }

    test('three of four that are held out, at least', () => {
      const heldOut = cases.filter((_, index) => isHeldOut(index))
      const wrong = heldOut.filter(
        ({ input, expected }) => !isDeepStrictEqual(found(input), expected),
      )
      assert.ok(wrong.length <= heldOut.length / 4, JSON.stringify(wrong, null, 2))
    })
  })
}

const headersOf = (...fields: readonly (string | Buffer)[]) =>
  parseMessage(
    Buffer.concat(
      [...fields, '', 'Hello'].flatMap((line) => [Buffer.from(line), Buffer.from('\r\n')]),
    ),
  ).headers

areReadAsLabelled('verification codes', codes, ({ subject, text }) =>
  extractFrom({ subject, text, html: '' }).codes.map(({ value }) => value),
)

areReadAsLabelled('purposes of links', links, ({ url, text }) => {
  const html = `<p>Hello</p><a href="${url}">${text}</a>`
  return extractFrom({ subject: '', text: '', html }).links[0]?.kind
})

areReadAsLabelled('repeated recipients', recipients, (fields) => {
  const { to, cc } = headersOf('From: a@x.example', ...fields)
  return [...to, ...cc].map(({ address }) => address)
})

areReadAsLabelled('names in 8-bit octets', names, ({ octets }) => {
  const [start, end] = [Buffer.from('From: "'), Buffer.from('" <a@x.example>')]
  return headersOf(Buffer.concat([start, Buffer.from(octets, 'hex'), end])).from?.name
})

areReadAsLabelled('dates', dates, (field) => {
  const { date } = headersOf('From: a@x.example', `Date: ${field}`)
  return date === null ? null : new Date(date).toISOString()
})

areReadAsLabelled('reports of failure', bounces, ({ subject, lines }) => {
  const report = read(notice([...lines, '', ...RETURNED], { subject }))
  const one = report.kind === 'bounce' ? report.recipients[0] : undefined
  return one === undefined ? report.kind : [one.recipient, one.enhancedCode, one.bounceClass]
})

const words = Object.values(bounceWords).flat()
areReadAsLabelled('words of servers about dead addresses', words, ({ status, diagnostic }) => {
  const fields = ['Final-Recipient: rfc822; bob@far.example', 'Action: failed']
  const reply = [`Status: ${status}`, `Diagnostic-Code: ${diagnostic}`]
  return onlyOf(standard([...fields, ...reply])).bounceClass === 'hard'
})

areReadAsLabelled('quotes of replies', replies, (text) => extractReply(text))
