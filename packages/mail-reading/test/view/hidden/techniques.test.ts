import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { messageOf } from '@mailroom/mail/test/samples.ts'
import { readContent } from '#extract/extract.ts'
import { parseMessage } from '#parse-message.ts'
import { viewBody } from '#view/view-body.ts'
import { TECHNIQUES } from './technique-cases.ts'

const fields = ['Content-Type: text/html; charset=utf-8']
const groups = new Set(TECHNIQUES.map(({ group }) => group))

for (const group of groups) {
  describe(`text that people do not see is left out or marked, and text that they see is kept: ${group}`, () => {
    for (const { name, html, isHidden } of TECHNIQUES.filter((one) => one.group === group)) {
      test(name, async () => {
        const { text } = parseMessage(messageOf({ fields, body: html }))
        const view = await viewBody({ html, text, hasFullLinks: false })
        const places = [text.includes('MARKER'), view.text.includes('MARKER')]
        if (!isHidden) {
          assert.deepEqual(places, [true, true])
          return
        }
        const { hidden } = readContent({ subject: '', text, html })
        assert.ok(!places.includes(true) || hidden.length > 0, 'shown without a mark')
        assert.ok(!places[1] || view.removed.length > 0, 'in the view without a mark')
      })
    }
  })
}
