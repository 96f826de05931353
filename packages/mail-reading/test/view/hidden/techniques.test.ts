import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { messageOf } from '@mailroom/mail/test/samples.ts'
import { readContent } from '#extract/extract.ts'
import { parseMessage } from '#parse-message.ts'
import { readTable } from '#test/table.ts'
import { viewBody } from '#view/view-body.ts'

const fields = ['Content-Type: text/html; charset=utf-8']

for (const { name: group, rows } of readTable(new URL('techniques.txt', import.meta.url))) {
  describe(`text that people do not see is left out or marked, and text that they see is kept: ${group}`, () => {
    for (const [effect, css = '', body = '', mode = ''] of rows) {
      test(`${css} ${body}`.trim(), async () => {
        const html = documentOf({ css, body, isQuirky: mode === 'quirks' })
        const { text } = parseMessage(messageOf({ fields, body: html }))
        const view = await viewBody({ html, text, hasFullLinks: false })
        const places = [text.includes('MARKER'), view.text.includes('MARKER')]
        if (effect === 'shows') {
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

function documentOf(parts: { css: string; body: string; isQuirky: boolean }): string {
  const { css, body, isQuirky } = parts
  const doctype = isQuirky ? '' : '<!DOCTYPE html>'
  const style = css === '' ? '' : `<style>${css}</style>`
  const inner = body.startsWith('<body') ? body : `<body><p>SEEN</p>${body}</body>`
  return `${doctype}<html><head><meta charset="utf-8">${style}</head>${inner}</html>`
}
