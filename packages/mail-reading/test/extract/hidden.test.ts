import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textFromHtml } from '@mailroom/mail/html/text.ts'
import { extractFrom } from '#extract/extract.ts'
import { type HiddenCase, SHOWN, UNSEEN } from '#test/view/hidden/bodies.ts'

const CODE = 'Your verification code is 482913.'
// A link has its own default colour, whatever its surroundings.
const LINK = '<a href="https://a.example/verify?t=1" style="color:inherit">Verify</a>'

/** A message with only HTML, as the service reads it. */
function extractedOf(html: string) {
  return extractFrom({ subject: 'Hello', text: textFromHtml(html), html })
}

const HIDING = [
  'display:none',
  'DISPLAY : NONE !important',
  'visibility:hidden',
  'opacity:0',
  'font-size:0',
  'font-size:0px;line-height:0',
  'font-size:1px',
  'max-height:0;overflow:hidden',
  'height:0;width:0;overflow:hidden',
  'mso-hide:all',
  'text-indent:-9999px',
  'position:absolute;left:-9999px',
  'color:transparent',
  'color:#fff',
  'color:white',
  'color:#fefefe',
  'color:#123456;background-color:#123456',
]
for (const style of HIDING) {
  test(`text hidden by "${style}" gives no code`, () => {
    const html = `<p>Hello.</p><div style="${style}"><p>${CODE} ${LINK}</p></div>`
    assert.deepEqual(extractedOf(html), { codes: [], links: [] })
  })
}

const HIDDEN = [
  `<div hidden>${CODE}${LINK}</div>`,
  `<style>.x { display:none }</style><p class="a x">${CODE}${LINK}</p>`,
  `<style>/* c */ p.x, #y { font-size: 0 }</style><p id="y">${CODE}${LINK}</p>`,
  `<!-- ${CODE}${LINK} -->`,
  `<noscript>${CODE}${LINK}</noscript>`,
  `<template>${CODE}${LINK}</template>`,
]
for (const html of HIDDEN) {
  test(`no code is found in ${html.slice(0, 60)}`, () => {
    assert.deepEqual(extractedOf(`<p>Hello.</p>${html}`), { codes: [], links: [] })
  })
}

const SHOWING = [
  '<table bgcolor="#0055aa"><tr><td style="color:#fff">CONTENT</td></tr></table>',
  '<div style="background:#333"><span style="color:#ffffff">CONTENT</span></div>',
  '<style>.b{background-color:#000}</style><div class="b"><span style="color:#fff">CONTENT</span></div>',
  '<style>@media (max-width:600px){.w{display:none}}</style><div class="w">CONTENT</div>',
  '<div style="font-size:0"><span style="font-size:16px">CONTENT</span></div>',
  '<div style="font-size:10px">CONTENT</div>',
  '<div style="opacity:0.8">CONTENT</div>',
  '<div style="opacity:.05">CONTENT</div>',
  '<div style="max-height:0">CONTENT</div>',
  '<div style="color:#222;background:#fff">CONTENT</div>',
]
for (const html of SHOWING) {
  test(`a visible code is found in ${html.slice(0, 60)}`, () => {
    const found = extractedOf(html.replace('CONTENT', `<p>${CODE}</p>${LINK}`))
    assert.deepEqual(
      found.codes.map(({ value }) => value),
      ['482913'],
    )
    assert.equal(found.links.length, 1)
  })
}

test('a text part does not reveal codes that the HTML hides', () => {
  const html = `<p>Hello.</p><p style="display:none">${CODE}</p>`
  assert.deepEqual(extractFrom({ subject: '', text: CODE, html }).codes, [])
})

// Text that views leave out gives no code, and text that they show does.

function hasCode({ html = '' }: HiddenCase): boolean {
  const body = html.replaceAll('MARKER', CODE)
  return extractFrom({ subject: '', text: '', html: body }).codes.length > 0
}

for (const one of UNSEEN) {
  if (!one.html?.includes('MARKER')) continue
  test(`a code hidden by ${one.name} is not found`, () => assert.ok(!hasCode(one)))
}
for (const one of SHOWN) {
  if (!one.html?.includes('MARKER')) continue
  test(`a visible code is found: ${one.name}`, () => assert.ok(hasCode(one)))
}
