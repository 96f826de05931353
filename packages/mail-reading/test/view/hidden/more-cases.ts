// More crafted bodies, by a second author: text that is hidden and text that only seems to be. MARKER and SEEN have
// the same meaning as in cases.ts.

import type { HiddenCase } from './cases.ts'

const html = (name: string, body: string, head = ''): HiddenCase => ({
  name,
  html: `<html><head>${head}</head><body><p>SEEN</p>${body}</body></html>`,
})
const ruled = (name: string, css: string, body: string): HiddenCase =>
  html(name, body, `<style type="text/css">${css}</style>`)

/** Bodies in which MARKER is invisible. */
export const MORE_UNSEEN: readonly HiddenCase[] = [
  html(
    'a preheader as services write it',
    '<span style="display:none!important;visibility:hidden;mso-hide:all;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden;">MARKER</span>',
  ),
  ruled('a rule of two classes', '.a.b{display:none}', '<p class="b a">MARKER</p>'),
  ruled(
    'a rule below an id',
    '#w td .x{display:none}',
    '<div id="w"><table><tr><td><i class="x">MARKER</i></td></tr></table></div>',
  ),
  ruled('a rule within a layer', '@layer base{.x{display:none}}', '<p class="x">MARKER</p>'),
  ruled(
    'a rule within supports',
    '@supports (display:none){.x{display:none}}',
    '<p class="x">MARKER</p>',
  ),
  ruled(
    'an important rule over a style',
    '.x{display:none!important}',
    '<p class="x" style="display:block">MARKER</p>',
  ),
  ruled('a rule with :is', ':is(.x,.y){display:none}', '<p class="x">MARKER</p>'),
  ruled(
    'a rule with an attribute of data',
    '[data-x="1"]{display:none}',
    '<p data-x="1">MARKER</p>',
  ),
  ruled(
    'a rule by the beginning of a class',
    '[class^="hid"]{display:none}',
    '<p class="hidden-1">MARKER</p>',
  ),
  html('near white on white', '<p style="color:#fdfdfd;background:#fff">MARKER</p>'),
  html('white on white in rgb with percent', '<p style="color:rgb(100%,100%,100%)">MARKER</p>'),
  html('white on white in hsl', '<p style="color:hsl(0,0%,100%)">MARKER</p>'),
  html('white on white in new rgb', '<p style="color:rgb(255 255 255 / 1)">MARKER</p>'),
  html('no alpha', '<p style="color:rgba(0,0,0,0)">MARKER</p>'),
  html('no alpha in hex', '<p style="color:#00000000">MARKER</p>'),
  html('a font element in white', '<font color="white">MARKER</font>'),
  html(
    'ground by bgcolor, text by font',
    '<table bgcolor="#123456"><tr><td><font color="#123456">MARKER</font></td></tr></table>',
  ),
  html('font of zero in em', '<p style="font-size:0em">MARKER</p>'),
  html('font by calc', '<p style="font-size:calc(1px * 0)">MARKER</p>'),
  html('far out by margin', '<p style="margin-left:-10000px">MARKER</p>'),
  html('far out by translate', '<p style="transform:translateX(-9999px)">MARKER</p>'),
  html('scaled to nothing', '<p style="transform:scale(0)">MARKER</p>'),
  html(
    'clipped for screen readers',
    '<span style="position:absolute;width:1px;height:1px;padding:0;margin:-1px;overflow:hidden;clip:rect(0,0,0,0);border:0">MARKER</span>',
  ),
  html('content-visibility', '<p style="content-visibility:hidden">MARKER</p>'),
  html('a comment for Outlook', '<!--[if mso]><p>MARKER</p><![endif]-->'),
  html('a template', '<template><p>MARKER</p></template>'),
  html(
    'the description of a hidden picture',
    '<div style="display:none"><img alt="MARKER" src="https://a.example/x.png" width="50" height="50"></div>',
  ),
]

/** Bodies in which MARKER is visible. */
export const MORE_SHOWN: readonly HiddenCase[] = [
  html('details that are open', '<details open><summary>more</summary><p>MARKER</p></details>'),
  html('the summary of closed details', '<details><summary>MARKER</summary><p>a</p></details>'),
  html(
    'white on a button of a dark table cell',
    '<table><tr><td bgcolor="#0b5fff" style="border-radius:4px"><a href="https://a.example/" style="color:#ffffff;font-size:16px">MARKER</a></td></tr></table>',
  ),
  ruled(
    'hidden on phones only',
    '@media only screen and (max-width:480px){.x{display:none!important}}',
    '<p class="x">MARKER</p>',
  ),
  ruled('hidden in print only', '@media print{.x{display:none}}', '<p class="x">MARKER</p>'),
  ruled(
    'hidden, and shown by a later rule',
    '.x{display:none}.x{display:block}',
    '<p class="x">MARKER</p>',
  ),
  ruled(
    'a rule for another class of the same beginning',
    '.xy{display:none}',
    '<p class="x">MARKER</p>',
  ),
  html(
    'font of 0 around sized letters',
    '<td style="font-size:0"><div style="font-size:14px">MARKER</div></td>',
  ),
  html('Outlook comment that all others show', '<!--[if !mso]><!--><p>MARKER</p><!--<![endif]-->'),
  html('a low box that lets text stand out', '<div style="height:0">MARKER</div>'),
  html(
    'visible within hidden',
    '<div style="visibility:hidden"><b style="visibility:visible">MARKER</b></div>',
  ),
  html(
    'white on a picture',
    '<td background="https://a.example/bg.png" style="color:#fff">MARKER</td>',
  ),
  html(
    'white on a gradient',
    '<div style="background:linear-gradient(#000,#333);color:#fff">MARKER</div>',
  ),
  html('small print', '<p style="font-size:9px;color:#999">MARKER</p>'),
]
