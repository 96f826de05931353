import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from '@mailroom/mail/test/samples.ts'
import { extractFrom } from '#extract/extract.ts'
import { parseMessage } from '#parse-message.ts'
import { SHOWN, UNSEEN } from '#test/view/hidden/bodies.ts'

const CODE = 'Your verification code is 482913.'
// A link has its own default colour, whatever its surroundings.
const LINK = `<a href='https://a.example/verify?t=1' style='color:inherit'>Verify</a>`

/** What is found in a message with only HTML, as the service reads it. */
function foundIn(body: string) {
  const html = body.replaceAll('MARKER', `${CODE} ${LINK}`)
  const { text } = parseMessage(messageOf({ fields: ['Content-Type: text/html'], body: html }))
  return extractFrom({ subject: 'Hello', text, html })
}

for (const { name, html } of UNSEEN) {
  if (!html?.includes('MARKER')) continue
  test(`no code and no link is found where it is hidden: ${name}`, () => {
    assert.deepEqual(foundIn(html), { codes: [], links: [] })
  })
}

for (const { name, html } of SHOWN) {
  if (!html?.includes('MARKER')) continue
  test(`a visible code and a visible link are found: ${name}`, () => {
    const { codes, links } = foundIn(html)
    assert.deepEqual(
      codes.map(({ value }) => value),
      ['482913'],
    )
    // The description of a picture holds no link, and a link holds no other.
    if (!/<img|<a /.test(html)) assert.equal(links.length, 1)
  })
}

test('a text part does not reveal codes that the HTML hides', () => {
  const html = `<p>Hello.</p><p style="display:none">${CODE}</p>`
  assert.deepEqual(extractFrom({ subject: '', text: CODE, html }).codes, [])
})
