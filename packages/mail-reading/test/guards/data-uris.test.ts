import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasDataUri } from '#content/data-uris.ts'

for (const html of [
  '<img src="data:image/png;base64,AAAA">',
  "<img src='data:,x'>",
  '<img src=data:image/png;base64,AAAA>',
  '<IMG SRC = "DATA:image/png;base64,AAAA">',
  '<img src=" data:image/png,AAAA">',
  '<img src="da\nta:image/png,AAAA">',
  '<img src="&#100;ata&colon;image/png,AAAA">',
  '<img src="&#x64;ata&#58;image/png,AAAA">',
  '<img srcset="a.png 1x, data:image/png;base64,AAAA 2x">',
  '<a href="data:text/html;charset=utf-8;base64,AAAA">x</a>',
  '<a href="data: any type,AAAA">x</a>',
  '<svg><image xlink:href="data:image/svg+xml,AAAA"/></svg>',
  '<p style="background:url(data:image/png,AAAA)">x</p>',
  '<p style="background:url( \'data:image/png,AAAA\' )">x</p>',
  '<p style="background:url(d\\61 ta:image/png,AAAA)">x</p>',
  '<style>p{background:url(data:font/woff2;base64,AAAA)}</style>',
  '<style>@import "data:text/css,AAAA";</style>',
  '<object data="data:application/pdf;base64,AAAA"></object>',
  '<meta http-equiv="refresh" content="0;url=data:text/html,AAAA">',
  '<iframe srcdoc="<img src=data:image/png,AAAA>"></iframe>',
  '<!--[if mso]><v:fill src="data:image/png,AAAA"/><![endif]-->',
]) {
  test(`a data: URI is found in ${JSON.stringify(html)}`, () => assert.ok(hasDataUri(html)))
}

for (const html of [
  '',
  '<p>The data: 1, 2 and 3.</p>',
  '<p>Write src="data:image/png,x" there.</p>',
  '<p title="Our metadata: a, b">x</p>',
  '<p data-x="1,2">x</p>',
  '<object data="a.pdf"></object>',
  '<img src="https://a.example/data:x,y">',
  '<style>p{background:url(a.png)}</style>',
]) {
  test(`no data: URI is found in ${JSON.stringify(html)}`, () => assert.ok(!hasDataUri(html)))
}

test('much HTML that nearly has one is read in linear time', () => {
  const start = performance.now()
  for (const piece of ['<a b="data:', '=data:', '="data: ', '<!--=data:', '\\64']) {
    hasDataUri(`<a ${piece.repeat(200_000)}`)
  }
  assert.ok(performance.now() - start < 10_000)
})
