import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFile } from '#files/read-file.ts'
import { CONTENTS, type Content, markdownOf } from './sample-contents.ts'
import * as files from './sample-files.ts'

const read = (content: Uint8Array, filename: string, contentType = 'application/octet-stream') =>
  readFile({ content: new Uint8Array(content), filename, contentType })

const listed = (items: readonly string[]) => items.map((item) => `- ${item}`).join('\n')
const blocks = (...all: readonly string[]) => all.join('\n\n')

/** How each kind is made, by which method it is read, and its text. */
const KINDS: Readonly<
  Record<
    string,
    { make: (content: Content) => Uint8Array; method: string; expect: (content: Content) => string }
  >
> = {
  pdf: {
    make: files.pdf,
    method: 'pdf',
    expect: ({ title, paragraphs, items, table }) => {
      const lines = [title, ...paragraphs, ...items].join('\n')
      // Two lines might be anything.
      if (table.length > 2) return blocks(lines, markdownOf(table))
      return [lines, ...table.map((row) => row.join('  '))].join('\n')
    },
  },
  docx: {
    make: files.docx,
    method: 'office',
    expect: ({ title, paragraphs, items, table }) =>
      blocks(`# ${title}`, ...paragraphs, listed(items), markdownOf(table)),
  },
  xlsx: {
    make: files.xlsx,
    method: 'office',
    expect: ({ title, table }) =>
      blocks(
        `## ${title}`,
        markdownOf(table.map((row) => row.map((cell) => cell.replace(/\.00$/, '')))),
      ),
  },
  pptx: {
    make: files.pptx,
    method: 'office',
    expect: ({ title, paragraphs, items, table }) =>
      blocks(
        '## Slide 1',
        `### ${title}`,
        ...paragraphs,
        '## Slide 2',
        ...items,
        markdownOf(table),
      ),
  },
  odt: {
    make: files.odt,
    method: 'office',
    expect: ({ title, paragraphs, items, table }) =>
      blocks(`# ${title}`, ...paragraphs, listed(items), markdownOf(table)),
  },
  ods: {
    make: files.ods,
    method: 'office',
    expect: ({ title, table }) => blocks(`## ${title}`, markdownOf(table)),
  },
  csv: { make: files.csv, method: 'csv', expect: ({ table }) => markdownOf(table) },
  html: {
    make: files.html,
    method: 'html',
    expect: ({ title, paragraphs, items, table }) =>
      blocks(
        `# ${title}`,
        ...paragraphs,
        listed(items),
        // As the view of mail writes it.
        markdownOf(table).replaceAll('---', '-'),
      ),
  },
  rtf: {
    make: files.rtf,
    method: 'office',
    expect: ({ title, paragraphs, items, table }) =>
      blocks(title, ...paragraphs, ...items, markdownOf(table)),
  },
  txt: {
    make: files.txt,
    method: 'text',
    expect: (content) => Buffer.from(files.txt(content)).toString().trim(),
  },
  eml: {
    make: files.eml,
    method: 'text',
    expect: ({ title, paragraphs }) =>
      blocks(
        `From: Ada <ada@sender.example>\nTo: Box <box@mailroom.example>\nDate: 2026-01-05T09:00:00.000Z\nSubject: ${title}`,
        ...paragraphs,
        'Attachments:\n- inner.zip',
      ),
  },
}

for (const [kind, { make, method, expect }] of Object.entries(KINDS)) {
  test(`ten files of the kind ${kind} have the text that was written into them`, async () => {
    for (const content of CONTENTS) {
      const found = await read(make(content), `file.${kind}`)
      assert.equal(found.text, expect(content))
      assert.deepEqual([found.method, found.isTruncated, found.why], [method, false, null])
    }
  })
}

test('text, tables and HTML are read in the charset that the mail declares', async () => {
  /** Привет */
  const hello = Buffer.from('cff0e8e2e5f2', 'hex')
  const charset = 'windows-1251'
  const readAs = async (content: Uint8Array, filename: string, contentType: string) =>
    (await readFile({ content: new Uint8Array(content), filename, contentType, charset })).text
  assert.equal(await readAs(hello, 'a.txt', 'text/plain'), 'Привет')
  assert.match(
    await readAs(
      Buffer.concat([hello, Buffer.from(';1\n'), hello, Buffer.from(';2')]),
      'a.csv',
      'text/csv',
    ),
    /Привет/,
  )
  assert.match(
    await readAs(Buffer.concat([Buffer.from('<p>'), hello]), 'a.html', 'text/html'),
    /Привет/,
  )
  assert.equal(await readAs(Buffer.from('“Hi”'), 'a.txt', 'text/plain'), '“Hi”')
})
