import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { extractFrom } from '#extract/extract.ts'
import { readDeclarations } from '#html/css-declarations.ts'
import { viewBody } from '#view/view-body.ts'
import { CHROMIUM_VALUES, list } from './chromium-values.ts'

const declared = (property: string, value: string) => readDeclarations(`${property}:${value}\n;`)
const isTaken = (property: string, value: string) => declared(property, value).length > 0
/** A value that is not evaluated is reported, and the earlier one counts. */
const isRead = (property: string, value: string) =>
  declared(property, value).some(({ isUnclear }) => !isUnclear)

describe('a value is dropped or accepted as Chromium does', () => {
  for (const [property, { taken, dropped, unread }] of Object.entries(CHROMIUM_VALUES)) {
    test(property, () => {
      assert.deepEqual(
        taken.filter((value) => !isTaken(property, value)),
        [],
      )
      assert.deepEqual(
        [...dropped, ...unread].filter((value) => isRead(property, value)),
        [],
      )
    })
  }
})

/** Styles of which Chromium hides the text, in an attribute and in a rule alike. */
const HIDING = [
  ...list(`
    font-size:0;font-size:x ¦ font-size:0;font-size:-5px ¦ font-size:0;font-size:16 px ¦
    font-size:0;font-size:16px 16px ¦ font-size:0;font-size:16px!ie ¦
    font-size:0;font-size:16px !important!important ¦ font-size:0!important;font-size:16px ¦
    font-size:0;font-size:calc(16) ¦ font-size:0;font-size:calc(1s) ¦ font-size:0;font-size:-moz-calc(16px) ¦
    font-size:0;font-size: ¦ font-size:0;font-size::16px ¦ font-size:0;font-size=16px ¦
    font-size:0;font-size 16px ¦ font-size:0;*font-size:16px ¦ font-size:0;_font-size:16px ¦
    font-size:0;$font-size:16px ¦ font-size:0;font-size:16px) ¦ font-size:0;font-size:(16px) ¦
    font-size:0;font-size:16px{} ¦ font-size:0;{font-size:16px} ¦ font-size:0;{;font-size:16px} ¦
    font-size:0;x{;font-size:16px;}y ¦ font-size:0;[;font-size:16px;] ¦ font-size:0;x:(;font-size:16px;) ¦
    font-size:0;x:foo(;font-size:16px); ¦ font-size:0;x:'a;font-size:16px;' ¦
    font-family:'/*';font-size:0;x:'*/' ¦ background:url(/*);font-size:0;x:url(*/) ¦
    font-size:0;x:url(a b;font-size:16px) ¦ font-size:0;@x{;font-size:16px} ¦
    font-size:0;--x:{;font-size:16px;}; ¦ font-size:0;font:16px ¦ font-size:0;font:16px/-1 serif ¦
    font-size:16px;font:700 0/0 a ¦ font:italic small-caps bold condensed 0/0 a,b ¦
    font-size:calc(1px * 2 - 2px) ¦ font-size:1e-3px ¦ font-size:16px;font-size:var(--unset, 0px) ¦
    font-size:16px;font-size:env(safe-area-inset-top) ¦ display:none;display:x ¦
    display:none;display:block block ¦ display:none;display:-moz-box ¦ display:none;display:calc(1) ¦
    visibility:hidden;visibility:visible x ¦ visibility:hidden;visibility:shown ¦ opacity:0;opacity:x ¦
    opacity:0;opacity:1 1 ¦ opacity:0;opacity:1px ¦ opacity:calc(0%) ¦ filter:opacity(0);filter:opacity(x) ¦
    filter:opacity(0);filter:alpha(opacity=100) ¦ color:white;color:nocolour ¦ color:white;color:#12345 ¦
    color:white;color:rgb(1,2) ¦ color:white;color:rgb(0,0%,0) ¦ color:white;color:rgb(0 0 0 .5) ¦
    color:white;color:red blue ¦ -webkit-text-fill-color:transparent;color:black ¦
    color:#123456;background:#123456;background:red blue ¦
    color:#123456;background:#123456;background-color:url(x) ¦ height:0;overflow:hidden;overflow:shown ¦
    height:0;overflow:hidden;height:-1px ¦ height:0;overflow:hidden;height:20xp ¦
    max-height:0;overflow:hidden;max-height:auto ¦ position:absolute;left:-9999px;left:x ¦
    position:absolute;left:-9999px;position:here ¦ position:absolute;inset:0 auto auto -9999px ¦
    text-indent:-9999px;text-indent:none ¦ margin-left:-9999px;margin-left:1px 2px ¦
    margin-left:-9999px;margin:1px 2px 3px 4px 5px ¦ position:absolute;clip:rect(0,0,0,0);clip:rect(0) ¦
    clip-path:inset(50%);clip-path:inset()x ¦ transform:scale(0);transform:scale() ¦
    transform:translateX(-9999px);transform:translateX(1)
  `),
  'font-size:0;font-size:16px\\9',
  'font-size:0;font-size:16px\\0/',
  'font-size:0;font-size:1\\65 3px',
  'font-size:0;font-size:16px\u00a0',
  'font-size:0;\u00a0font-size:16px',
  'font-size:0;x\\;font-size:16px',
  'display:none;display:block\\9',
]

/** Styles of which Chromium shows the text, in an attribute and in a rule alike. */
const SHOWING = [
  ...list(`
    font-size:x;font-size:16px ¦ font-size:16px;font-size:0x ¦ font-size:16px;font-size:0 0 ¦
    font-size:16px;font-size:0!ie ¦ font-size:0;FONT-SIZE:16PX ¦ font-size:0;font-size : 16px ¦
    font-size:0;font-size/**/:16px ! /**/ IMPORTANT ¦ font-size:0;x:);font-size:16px ¦
    font-size:0;@x;font-size:16px ¦ font-size:0;'a';font-size:16px ¦ font-size:0;a:b c:d;font-size:16px ¦
    font-size:0;/*;*/font-size:16px ¦ font-size:0;x:(;font-size:16px;);font-size:20px ¦
    font-size:0;font-size:inherit ¦ font-size:0;font-size:unset ¦ font-size:0;font-size:initial ¦
    font-size:0;font-size:var(--unset) ¦ font-size:0;font-size:var(--unset, 16px) ¦
    font-size:0;font-size:var(--unset, x) ¦ font-size:0;font:inherit ¦ font-size:0;font:16px serif ¦
    font-size:0;font:caption ¦ font-size:0;all:unset ¦ font-size:0;font-size:calc(10px + 6px) ¦
    font-size:0;font-size:clamp(12px, 2vw, 20px) ¦ font-size:0;font-size:1e1px ¦ font-size:0;font-size:medium ¦
    font:900 14px a ¦ display:none;display:inline flow-root ¦ display:none;display:revert ¦
    display:none;display:var(--unset) ¦ display:block;display:none x ¦ visibility:hidden;visibility:initial ¦
    opacity:0;opacity:50% ¦ opacity:1;opacity:0px ¦ color:white;color:black ¦ color:white;color:rgb(0 0 0) ¦
    color:white;color:rgb(none 0 0 / 1) ¦ color:white;color:hsl(1turn 0% 0%) ¦ color:white;color:windowtext ¦
    color:white;color:unset ¦ color:black;color:white red ¦
    -webkit-text-fill-color:transparent;-webkit-text-fill-color:initial ¦
    color:white;background:red;background:x ¦ color:white;background:url(white.png) #000 ¦
    height:0;overflow:hidden;height:20px ¦ height:0;overflow:hidden;overflow:visible ¦
    position:absolute;left:-9999px;inset:0 ¦ position:absolute;left:-9999px;left:auto ¦
    text-indent:-9999px;text-indent:0 ¦ transform:scale(0);transform:none
  `),
  'font-size:16px;font-size:0\\9',
  'font-size:0;font-size:16p\\78',
]

const CODE = 'Your verification code is 482913.'

for (const [styles, isSeen] of [
  [HIDING, false],
  [SHOWING, true],
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
