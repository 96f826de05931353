// Bodies that newer CSS hides, and bodies that it only seems to hide. MARKER and SEEN have the same meaning as in
// cases.ts.

import type { HiddenCase } from './cases.ts'

const html = (name: string, body: string, head = ''): HiddenCase => ({
  name,
  html: `<html><head>${head}</head><body><p>SEEN</p>${body}</body></html>`,
})
const styled = (style: string, name = style): HiddenCase =>
  html(name, `<div style="${style}">MARKER</div>`)
const ruled = (name: string, css: string, body = '<p class="x">MARKER</p>'): HiddenCase =>
  html(name, body, `<style>${css}</style>`)
const picture = (attributes: string): HiddenCase =>
  html(
    `a picture with ${attributes}`,
    `<img ${attributes} alt="MARKER" src="https://a.example/b.png">`,
  )
const selectors = (word: string) =>
  Array.from(word, (char) => `1${String.fromCodePoint(0xe0100 + (char.codePointAt(0) ?? 0) - 16)}`)
const base64 = (css: string) => `data:text/css;base64,${Buffer.from(css).toString('base64')}`

const HIDING_RULE = '.x{display:none}'

/** Bodies in which MARKER is invisible. */
export const NEWER_UNSEEN: readonly HiddenCase[] = [
  picture('width="1" height="1"'),
  picture('width=600 height=1'),
  picture('style="width:1px;height:1px"'),
  html('details that are closed', '<details><summary>more</summary><p>MARKER</p></details>'),
  html('details without a summary', '<details>MARKER</details>'),
  html(
    'the second summary of details',
    '<details><summary>a</summary><summary>MARKER</summary></details>',
  ),
  html('a popover', '<div popover>MARKER</div>'),
  styled('position:absolute;inset:-9999px auto auto -9999px'),
  styled('position:absolute;inset:auto 9999px auto auto'),
  styled('position:absolute;inset-inline-start:-9999px'),
  styled('position:fixed;inset-block:-9999px auto'),
  styled('margin-inline-start:-9999px'),
  styled('margin-block:-9999px 0'),
  styled('clip-path:inset(0 100% 0 0)'),
  styled('clip-path:inset(0 50% 0 50%)'),
  styled('clip-path:inset(9999px)'),
  styled('clip-path:ellipse(0 0 at center)'),
  styled('clip-path:circle(0 at 50% 50%)'),
  styled('clip-path:polygon(0 0, 0 0, 0 0)'),
  styled('clip-path:polygon(0 0, 100% 100%, 50% 50%)'),
  styled('clip-path:xywh(0 0 0 0)'),
  styled('clip-path:rect(0 0 0 0)'),
  styled('-webkit-clip-path:inset(100%)'),
  styled('translate:-9999px'),
  styled('translate:0 -9999px'),
  styled('scale:0'),
  styled('scale:1 0'),
  styled('rotate:y 90deg'),
  styled('rotate:1 0 0 90deg'),
  styled('transform:rotateY(90deg)'),
  styled('transform:rotateX(.25turn)'),
  styled('transform:rotate3d(0,1,0,90deg)'),
  styled('transform:rotateY(180deg);backface-visibility:hidden'),
  styled('transform:matrix(0,0,0,0,0,0)'),
  styled('transform:matrix(1,0,0,1,-9999,0)'),
  styled('transform:skewX(90deg)'),
  styled('transform:scale(.3) scale(.1)'),
  styled('-webkit-transform:scale(0)'),
  styled('transform:translate(-9999px,0) rotate(5deg)'),
  styled('zoom:0'),
  styled('zoom:1%'),
  html('small by two zooms', '<div style="zoom:.3"><p style="zoom:.3">MARKER</p></div>'),
  html('faint by two opacities', '<div style="opacity:.2"><p style="opacity:.2">MARKER</p></div>'),
  styled('filter:blur(20px)'),
  styled('inline-size:0;overflow:hidden'),
  styled('max-block-size:0;overflow:hidden'),
  styled('height:2px;overflow:hidden'),
  styled('line-height:0;overflow:hidden'),
  styled('letter-spacing:-1em'),
  styled('font-size-adjust:0'),
  styled('mask:linear-gradient(transparent,transparent)'),
  styled('-webkit-mask-image:linear-gradient(rgba(0,0,0,0) 0%,transparent)'),
  styled('mask:url(m.png);mask-size:0 0'),
  styled('color:oklch(1 0 0)'),
  styled('color:oklch(100% 0% 0deg)'),
  styled('color:oklab(.999 0 0)'),
  styled('color:lab(100 0 0)'),
  styled('color:lch(100% 0 none)'),
  styled('color:hwb(0 100% 0%)'),
  styled('color:color(srgb 1 1 1)'),
  styled('color:color(display-p3 1 1 1)'),
  styled('color:color-mix(in srgb, white, white)'),
  styled('color:color-mix(in oklch, white 50%, #fff)'),
  styled('color:color-mix(in srgb, red, transparent 100%)'),
  styled('color:light-dark(white, black)'),
  styled('color:oklch(.7 .1 200 / 0)'),
  styled('color:oklch(.628 .258 29.23);background:red'),
  styled('color:#fff;background:linear-gradient(#fff,#fff)'),
  styled('color:#fff;background-image:linear-gradient(to right,white 0%,#fefefe 100%)'),
  styled('color:#000;background:radial-gradient(circle,oklch(0 0 0),black)'),
  styled('color:#fff;background:linear-gradient(#fff,#fff),url(b.png)'),
  styled('color:#fff;background:linear-gradient(#000,#000) 0 0/0 0 no-repeat'),
  styled(
    'color:transparent;background:linear-gradient(#fff,#fff);-webkit-background-clip:text',
    'letters filled with white',
  ),
  ruled('a rule with :has', 'div:has(> .k){display:none}', '<div><i class="k"></i>MARKER</div>'),
  ruled(
    'a rule with :has of a sibling',
    'p:has(+ .k){display:none}',
    '<p>MARKER</p><i class="k"></i>',
  ),
  ruled(
    'a rule with :has of later siblings',
    '.x:has(~ div .k){opacity:0}',
    '<p class="x">MARKER</p><b></b><div><i class="k"></i></div>',
  ),
  ruled(
    'a rule with :has of two parts',
    'div:has(.a .b){display:none}',
    '<div>MARKER<i class="a"><i class="b"></i></i></div>',
  ),
  {
    name: 'a rule with :not(:has())',
    html: '<style>p:not(:has(img)){display:none}</style><div>SEEN</div><p>MARKER</p>',
  },
  ruled(
    'a rule for a container',
    `body{container-type:inline-size}@container (min-width:1px){${HIDING_RULE}}`,
  ),
  ruled(
    'a rule for a container with a name',
    `@container c (width > 1px){${HIDING_RULE}}`,
    '<div style="container:c/inline-size"><p class="x">MARKER</p></div>',
  ),
  html(
    'a linked sheet in an address',
    '<p class="x">MARKER</p>',
    `<link rel="stylesheet" href="data:text/css,${encodeURIComponent(HIDING_RULE)}">`,
  ),
  html(
    'a linked sheet in base64',
    '<p class="x">MARKER</p>',
    `<link rel=stylesheet href="${base64(`/*${'-'.repeat(300)}*/${HIDING_RULE}`)}">`,
  ),
  ruled('an imported sheet in an address', `@import url("${base64(HIDING_RULE)}");`),
  ruled(
    'an imported sheet for screens',
    `@import "data:text/css,${encodeURIComponent(HIDING_RULE)}" screen;`,
  ),
  html(
    'a style element for screens',
    '<p class="x">MARKER</p>',
    `<style media="screen">${HIDING_RULE}</style>`,
  ),
  ruled('a weak rule with :where', `:where(#a,.x){display:block}.x{display:none}`),
]

/** Conditions of at-rules that hold on a desktop. */
const HOLDING = [
  '@media (min-width:1cm)',
  '@media (1px < width < 9999px)',
  '@media (1px <= width)',
  '@media (width)',
  '@media print, (color)',
  '@media (min-width:9999px) or (min-height:1px)',
  '@media ((min-width:1px) and (not (max-width:1px)))',
  '@media not print',
  '@media not (hover:none)',
  '@media screen and (min-aspect-ratio:1/1)',
  '@media (min-resolution:96dpi)',
  '@media (scripting:none)',
  '@media (prefers-color-scheme:light) and (pointer:fine)',
  '@supports (display:grid)',
  '@supports not (display:x)',
  '@supports (display:x) or (color:red)',
]
const FAILING = [
  '@media (min-width:9999px)',
  '@media (monochrome)',
  '@media (prefers-reduced-motion)',
  '@media not screen',
  '@supports not (display:none)',
  '@supports (display:x)',
]

/** Bodies that a condition hides or shows. */
export const CONDITIONAL_UNSEEN: readonly HiddenCase[] = [
  ...HOLDING.map((rule) => ruled(rule, `${rule}{${HIDING_RULE}}`)),
  ...FAILING.map((rule) => ruled(`shown by ${rule}`, `${HIDING_RULE}${rule}{.x{display:block}}`)),
  ruled('a layer is weaker', `${HIDING_RULE}@layer a{p.x{display:block}}`),
  ruled(
    'an important layer is stronger',
    '@layer a{.x{display:none!important}}p.x{display:block!important}',
  ),
  ruled('a state that is negated', 'p.x:not(:hover){display:none}'),
  ruled('a link', 'a:link{display:none}', '<a href="https://a.example/">MARKER</a>'),
]
export const CONDITIONAL_SHOWN: readonly HiddenCase[] = [
  ...FAILING.map((rule) => ruled(rule, `${rule}{${HIDING_RULE}}`)),
  ruled('a weak layer', `@layer a{p.x{display:none}}.x{display:block}`),
  ruled('an anchor that is no link', 'a:any-link{display:none}', '<a name="a">MARKER</a>'),
]

/** Bodies in which MARKER is visible. */
export const NEWER_SHOWN: readonly HiddenCase[] = [
  picture('width="200" height="40"'),
  picture('width="1" height="1" style="width:200px;height:40px"'),
  styled('position:absolute;left:50%;transform:translate(-50%,-50%)', 'centred'),
  styled('position:absolute;inset:0'),
  styled('transform:rotate(180deg)'),
  styled('transform:rotateY(180deg)'),
  styled('rotate:45deg'),
  styled('scale:1 1'),
  styled('translate:10px 20px'),
  styled('zoom:90%'),
  styled('zoom:normal'),
  styled('filter:blur(1px)'),
  styled('letter-spacing:-1px'),
  styled('line-height:0'),
  styled('line-height:1;overflow:hidden'),
  styled('clip-path:inset(5px 10px round 4px)'),
  styled('clip-path:circle(50%)'),
  styled('clip-path:polygon(0 0, 100% 0, 100% 100%, 0 100%)'),
  styled('mask:linear-gradient(black,transparent)'),
  styled('mask:none'),
  styled('color:oklch(.4 .1 200)'),
  styled('color:oklch(1 0 0);background:oklch(.2 0 0)'),
  styled('color:color-mix(in srgb, white, black)'),
  styled('color:lab(30 0 0)'),
  styled('color:hwb(0 0% 100%)'),
  styled('color:#fff;background:linear-gradient(#fff,#000)'),
  styled('color:#fff;background:linear-gradient(#000,#000),linear-gradient(#fff,#fff)'),
  styled(
    'background:linear-gradient(#06c,#c06);-webkit-background-clip:text;-webkit-text-fill-color:transparent',
    'letters filled with a gradient',
  ),
  ruled(
    'a rule with :has that is not met',
    'div:has(> .k){display:none}',
    '<div><b><i class="k"></i></b>MARKER</div>',
  ),
  ruled(
    'a rule with :has of two parts, one outside',
    '.a:has(.a .b){display:none}',
    '<div class="a">MARKER<i class="b"></i></div>',
  ),
  ruled('a container rule without a container', `@container (min-width:1px){${HIDING_RULE}}`),
  ruled(
    'a container rule for small ones',
    `body{container-type:inline-size}@container (max-width:300px){${HIDING_RULE}}`,
  ),
  ruled(
    'an imported sheet for print',
    `@import "data:text/css,${encodeURIComponent(HIDING_RULE)}" print;`,
  ),
  html(
    'a style element for print',
    '<p class="x">MARKER</p>',
    `<style media="print">${HIDING_RULE}</style>`,
  ),
  html(
    'a style element of another type',
    '<p class="x">MARKER</p>',
    `<style type="text/x">${HIDING_RULE}</style>`,
  ),
  html(
    'a linked sheet for print',
    '<p class="x">MARKER</p>',
    `<link rel="stylesheet" media="print" href="data:text/css,${encodeURIComponent(HIDING_RULE)}">`,
  ),
]

/** Characters behind digits, letters and emoji that stand for the letters of "MARKER". */
export const SMUGGLED: readonly string[] = [
  selectors('MARKER').join(''),
  'a\u{e0141}b\u{e0142}c',
  '😀\u{e0141}\u{e0142}',
  '漢\u{e0141}\u{e0142}',
  'x\u{1d173}\u{1d174}\u{1d17a}y',
  '1\ufe012\ufe05',
  'a\u{1bca0}\u{1bca3}\u{e0001}\u{e01f0}\u{e0fff}b',
]
