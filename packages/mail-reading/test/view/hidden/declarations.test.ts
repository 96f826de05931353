import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { extractFrom } from '#extract/extract.ts'
import { readDeclarations } from '#html/css-declarations.ts'
import { readTable } from '#test/table.ts'
import { viewBody } from '#view/view-body.ts'

const declared = (property: string, value: string) => readDeclarations(`${property}:${value}\n;`)
const isTaken = (property: string, value: string) => declared(property, value).length > 0
/** A value that is not evaluated is reported, and the earlier one counts. */
const isRead = (property: string, value: string) =>
  declared(property, value).some(({ isUnclear }) => !isUnclear)

describe('a value is dropped or accepted as Chromium does', () => {
  for (const { name, rows } of readTable(new URL('chromium-values.txt', import.meta.url))) {
    const [property = '', verdict] = name.split(' ')
    test(name, () => {
      const wrong = rows
        .flat()
        .filter((value) =>
          verdict === 'taken' ? !isTaken(property, value) : isRead(property, value),
        )
      assert.deepEqual(wrong, [])
    })
  }
})

const [hidden = [], shown = []] = readTable(new URL('styles.txt', import.meta.url)).map(
  ({ rows }) => rows.map(([style = '']) => style),
)
const withUnusualSpaces = ['font-size:0;font-size:16px\u00a0', 'font-size:0;\u00a0font-size:16px']

const CODE = 'Your verification code is 482913.'

for (const [styles, isSeen] of [
  [[...hidden, ...withUnusualSpaces], false],
  [shown, true],
] as const) {
  describe(isSeen ? 'text that is shown after all is shown' : 'text that stays hidden', () => {
    for (const style of styles) {
      test(style, async () => {
        const attribute = `<p>Hello.</p><p style="${style}">${CODE}</p>`
        const rule = `<style>.x{${style}}</style><p>Hello.</p><p class="x">${CODE}</p>`
        for (const html of [attribute, rule]) {
          const view = await viewBody({ html, text: '', hasFullLinks: false })
          assert.equal(view.text.includes('482913'), isSeen, `view of ${html}`)
          const { codes } = extractFrom({ subject: '', text: '', html })
          assert.equal(codes.length === 1, isSeen, `codes of ${html}`)
        }
      })
    }
  })
}
