import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { shownBody, showSource } from '#display/shown-html.ts'
import { readFile } from '#files/read-file.ts'
import { extractReply } from '#reply/reply-text.ts'
import { findSecrets } from '#secrets/find-secrets.ts'
import { xlsxWith } from './files/sample-files.ts'

test('time to find the reply in hostile text grows linearly with its length', () => {
  const lines = (line: string): string => `${line}\n`.repeat(Math.ceil(1_000_000 / line.length / 2))
  const texts = {
    quotes: lines('>'),
    'nested marks': '>'.repeat(1_000_000),
    'one line': 'a'.repeat(1_000_000),
    blanks: `${' '.repeat(1_000_000)}x`,
    'blank lines': `${'\n'.repeat(1_000_000)}x`,
    openers: 'On \n'.repeat(100_000),
    'openers on one line': 'On '.repeat(300_000),
    'openers with dates': lines('On 1 On 2 On 3 On 4 a@b.c wrote x:'),
    verbs: lines('wrote:'),
    'words and a verb': lines(`${'a'.repeat(36)} wrote:`),
    'at signs': lines(`${'@'.repeat(290)}:`),
    brackets: lines(`@${')'.repeat(290)}x:`),
    dashes: lines(`--${'-a'.repeat(130)} wrote --x:`),
    fields: lines('From:'),
    'fields far apart': lines('From: a\nb\nc'),
    closings: `Regards\n${'\n'.repeat(100)}`.repeat(10_000),
    'devices named': lines('Sent from x\n\n'),
    'broken links': lines('> (http://a'),
    returns: '\r'.repeat(1_000_000),
  }
  for (const [name, text] of Object.entries(texts)) {
    const before = process.cpuUsage()
    extractReply(text)
    const tookMs = process.cpuUsage(before).user / 1_000
    assert.ok(tookMs < 4_000, `${name} took ${tookMs.toFixed(0)} ms`)
  }
})

test('HTML of hostile sizes takes bounded time, and a page that cannot be shown says so', () => {
  const deep = '<div>'.repeat(25_000)
  const wide = '<p style="color:rgb(1,2,3);background:url(x)">x</p>'.repeat(14_000)
  const sheet = `<style>${'a{b:url(x);c:"'.repeat(60_000)}</style>`
  const opened = `<style>${'('.repeat(400_000)}</style>`
  for (const html of [wide, sheet, opened, '<'.repeat(25_000), '"<a b='.repeat(25_000)]) {
    const startMs = performance.now()
    const shown = showSource({ html, showsRemote: false })
    assert.ok(shown !== null)
    assert.ok(performance.now() - startMs < 10_000)
  }
  for (const html of [deep, '<p>'.repeat(40_000)]) {
    assert.equal(showSource({ html, showsRemote: false }), null)
  }
  const html = `<p>${'x'.repeat(1_100_000)}</p>`
  const cut = shownBody(showSource({ html, showsRemote: false }), { html, text: '' }, () => null)
  assert.ok(cut.includes('too long to be shown'))
})

test('elements that the parser repeats cost little, however many and long their attributes are', () => {
  const repeat = (attributes: string, count: number) =>
    `<p><font ${attributes}></p>${'<p>x'.repeat(count)}`
  const styleOf = (length: number) => `style="${'color:rgb(1,2,3);'.repeat(length / 17)}"`
  const namesOf = (length: number) =>
    Array.from({ length: length / 7 }, (_, index) => `a${index}=b`).join(' ')
  const timeOf = (html: string) => {
    const before = process.cpuUsage()
    assert.ok(showSource({ html, showsRemote: false }) !== null)
    return process.cpuUsage(before).user / 1_000
  }
  for (const attributesOf of [styleOf, namesOf]) {
    for (const { html, msMax } of [
      { html: repeat(attributesOf(4_000), 1_000), msMax: 200 },
      { html: repeat(attributesOf(500_000), 20_000), msMax: 2_000 },
    ]) {
      // The first times include compiling the code.
      const tookMs = Math.min(timeOf(html), timeOf(html), timeOf(html))
      assert.ok(tookMs < msMax, `${html.length} characters took ${tookMs} ms`)
    }
  }
  const fonts = Array.from({ length: 200 }, (_, index) => `<b a=${index}>`).join('')
  assert.equal(
    showSource({ html: `<p>${fonts}</p>${'<p>x'.repeat(1_200)}`, showsRemote: false }),
    null,
  )
})

test('a workbook of 10,000 sheets is read within its bounds', async () => {
  const sheets = Array.from({ length: 10_000 }, (_, n) => ({
    name: `S${n}`,
    data: `<row><c r="A1"><v>${n}</v></c></row>`,
  }))
  const { method, text } = await readFile({
    content: new Uint8Array(xlsxWith(sheets)),
    filename: 'a.xlsx',
    contentType: 'application/octet-stream',
  })
  assert.equal(method, 'office')
  assert.match(text, /^## S0\n/)
  assert.match(text, /## S9999\n\n\| 9999 \|/)
})

test('in a long file each secret is found once, at its place, wherever it stands', () => {
  const iban = 'GB82 WEST 1234 5698 7654 32'
  const line = 'a line of forty characters, with a 2 in.\n'
  const before = line.repeat(2_000_000 / line.length)
  const after = line.repeat(20_000)
  for (const around of [512 * 1024, 1024 * 1024, 1024 * 1024 - 16 * 1024]) {
    for (let start = around - 60; start < around + 60; start += 19) {
      const text = `${before.slice(0, start - 1)}\n${iban}\n${after}`
      const file = { filename: 'notes.txt', contentType: 'text/plain', content: Buffer.from(text) }
      const found = findSecrets({ subject: '', text: '', html: '', attachments: [file] })
      const { length } = iban
      const sha256 = hash('sha256', iban)
      const finding = { kind: 'iban', part: 'attachment:0', offset: start, length, sha256 }
      assert.deepEqual(found, [finding], `${start}`)
    }
  }
})
