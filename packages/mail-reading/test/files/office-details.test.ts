import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindOfFile } from '#files/file-kind.ts'
import { readFile } from '#files/read-file.ts'
import {
  docxWith,
  odfWith,
  pdfOf,
  pdfWith,
  pptxWith,
  relationships,
  shape,
  wordParagraph,
  xlsxWith,
  zipOf,
} from './sample-files.ts'

const read = (content: Uint8Array, filename: string) =>
  readFile({ content: new Uint8Array(content), filename, contentType: 'application/octet-stream' })
const textOf = async (content: Uint8Array, filename: string) => (await read(content, filename)).text

const run = (text: string, properties: string) =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`

test('hidden and deleted text of a Word document is not read', async () => {
  const body = [
    `<w:p>${run('Shown', '')}${run(' hidden', '<w:vanish/>')}${run(' too', '<w:vanish w:val="false"/>')}</w:p>`,
    `<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins>${run('inserted', '')}</w:ins></w:p>`,
    `<w:p>${run('by style', '<w:rStyle w:val="Secret"/>')}</w:p>`,
    `<w:p><w:pPr><w:pStyle w:val="Secret"/></w:pPr>${run('of the paragraph', '')}${run('but this', '<w:vanish w:val="0"/>')}</w:p>`,
    '<w:p><w:r><w:instrText>FIELD CODE</w:instrText></w:r></w:p>',
  ]
  const styles =
    '<w:styles xmlns:w="x"><w:style w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>'
  const content = docxWith(body.join(''), {
    'word/_rels/document.xml.rels': relationships([['styles', 'styles.xml']]),
    'word/styles.xml': styles,
  })
  assert.equal(await textOf(content, 'a.docx'), 'Shown too\n\ninserted\n\nbut this')
})

test('a package without relationships is read by the usual names of its parts', async () => {
  const document = `<w:document xmlns:w="x"><w:body>${wordParagraph('Body')}</w:body></w:document>`
  assert.equal(await textOf(zipOf({ 'word/document.xml': document }), 'a.docx'), 'Body')
  const book = zipOf({
    'xl/workbook.xml':
      '<workbook xmlns="x"><sheets><sheet name="One" sheetId="1"/></sheets></workbook>',
    'xl/sharedStrings.xml': '<sst xmlns="x"><si><t>Shared</t></si></sst>',
    'xl/worksheets/sheet1.xml':
      '<worksheet xmlns="x"><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData></worksheet>',
  })
  assert.match((await textOf(book, 'a.xlsx')) ?? '', /## One[\s\S]*Shared/)
  assert.equal((await read(zipOf({ 'a.txt': 'a' }), 'a.zip')).method, 'unsupported')
})

test('headers, notes and text boxes of a Word document are read once', async () => {
  const box = (text: string) =>
    `<mc:AlternateContent><mc:Choice><w:txbxContent>${wordParagraph(text)}</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>${wordParagraph(text)}</w:txbxContent></mc:Fallback></mc:AlternateContent>`
  const header = `<w:hdr xmlns:w="x">${wordParagraph('Letterhead')}</w:hdr>`
  const notes = `<w:footnotes xmlns:w="x"><w:footnote w:type="separator"><w:p/></w:footnote><w:footnote w:id="2">${wordParagraph('A note')}</w:footnote></w:footnotes>`
  const content = docxWith(`<w:p><w:r><w:t>Body</w:t></w:r><w:r>${box('In a box')}</w:r></w:p>`, {
    'word/_rels/document.xml.rels': relationships([
      ['header', 'header1.xml'],
      ['header', 'header2.xml'],
      ['footnotes', 'footnotes.xml'],
    ]),
    'word/header1.xml': header,
    'word/header2.xml': header,
    'word/footnotes.xml': notes,
  })
  assert.equal(await textOf(content, 'a.docx'), 'Letterhead\n\nIn a box\n\nBody\n\nA note')
})

test('a table within a table becomes the text of its cell', async () => {
  const cell = (text: string) => `<w:tc>${text}</w:tc>`
  const inner = `<w:tbl><w:tr>${cell(wordParagraph('x'))}${cell(wordParagraph('y'))}</w:tr></w:tbl>`
  const outer = `<w:tbl><w:tr>${cell(wordParagraph('a | b'))}${cell(`${inner}<w:p/>`)}</w:tr></w:tbl>`
  assert.equal(await textOf(docxWith(outer), 'a.docx'), '| a \\| b | x, y |\n| --- | --- |')
})

test('cells of a workbook are read as a person sees them', async () => {
  const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-409]d/m/yyyy h:mm"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`
  const row = [
    '<c r="B1" s="1"><v>46023</v></c>',
    '<c r="C1" s="2"><v>46023.5</v></c>',
    '<c r="D1" t="b"><v>1</v></c>',
    '<c r="E1"><f>0.1+0.2</f><v>0.30000000000000004</v></c>',
    '<c r="F1" t="inlineStr"><is><t>in line</t></is></c>',
    '<c r="G1" t="str"><v>formula</v></c>',
    '<c r="H1" t="e"><v>#DIV/0!</v></c>',
  ]
  const content = xlsxWith(
    [
      { name: 'One', data: `<row>${row.join('')}</row>` },
      { name: 'Secret', state: 'veryHidden', data: '<row><c r="A1"><v>7</v></c></row>' },
      {
        name: 'Two',
        before: '<cols><col min="2" max="3" hidden="1"/></cols>',
        data: '<row><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row><row hidden="1"><c r="A2"><v>3</v></c></row>',
      },
    ],
    { 'xl/styles.xml': styles },
  )
  assert.equal(
    await textOf(content, 'a.xlsx'),
    [
      '## One',
      '',
      '| 2026-01-01 | 2026-01-01 12:00:00 | TRUE | 0.3 | in line | formula | #DIV/0! |',
      `|${' --- |'.repeat(7)}`,
      '',
      '## Two',
      '',
      '| 1 |',
      '| --- |',
      '',
      '[left out: 1 hidden sheet]',
    ].join('\n'),
  )
})

test('a duration has the hours of all its days', async () => {
  const styles =
    '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[h]:mm"/></numFmts><cellXfs><xf numFmtId="164"/><xf numFmtId="46"/><xf numFmtId="21"/></cellXfs></styleSheet>'
  const cells = '<c s="0"><v>1.5</v></c><c s="1"><v>2.25</v></c><c s="2"><v>0.25</v></c>'
  const content = xlsxWith([{ name: 'Hours', data: `<row>${cells}</row>` }], {
    'xl/styles.xml': styles,
  })
  assert.match(await textOf(content, 'a.xlsx'), /\| 36:00:00 \| 54:00:00 \| 06:00:00 \|/)
})

test('a hidden slide is left out, and its place is counted', async () => {
  const content = pptxWith([
    { shapes: shape(['Shown']) },
    { shapes: shape(['Secret']), isHidden: true },
    { shapes: shape(['Last']) },
  ])
  const found = await read(content, 'a.pptx')
  assert.equal(
    found.text,
    '## Slide 1\n\nShown\n\n## Slide 3\n\nLast\n\n[left out: 1 hidden slide]',
  )
  assert.equal(found.pages, 3)
})

test('hidden and deleted text of OpenDocument files is not read', async () => {
  const styles =
    '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
  const body = [
    '<text:tracked-changes><text:changed-region><text:deletion><text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>',
    '<text:p>Shown<text:s text:c="2"/>text<text:tab/>here<text:span text:style-name="T1"> hidden</text:span></text:p>',
    '<text:p>Next<text:line-break/>line</text:p>',
  ]
  const content = odfWith('text', body.join(''), { styles })
  assert.equal(await textOf(content, 'a.odt'), 'Shown  text\there\n\nNext\nline')
})

test('rows and columns of an OpenDocument sheet stand as a person sees them', async () => {
  const cell = (text: string, of = '') =>
    `<table:table-cell ${of}><text:p>${text}</text:p></table:table-cell>`
  const row = (cells: string, of = '') => `<table:table-row ${of}>${cells}</table:table-row>`
  const column = (of = '') => `<table:table-column ${of}/>`
  const sheet = [
    column(),
    column('table:visibility="collapse" table:number-columns-repeated="2"'),
    column('table:number-columns-repeated="3"'),
    row(['a', 'hidden', 'too', 'd', 'e', 'f'].map((text) => cell(text)).join('')),
    row(cell('same', 'table:number-columns-repeated="6"'), 'table:number-rows-repeated="2"'),
    row(
      `${cell('wide', 'table:number-columns-spanned="5"')}<table:covered-table-cell table:number-columns-repeated="4"><text:p>below</text:p></table:covered-table-cell>${cell('last')}`,
    ),
    row('<table:table-cell/>', 'table:number-rows-repeated="1048570"'),
  ]
  const table = (rows: string) => `<table:table table:name="S">${rows}</table:table>`
  const found = await read(odfWith('spreadsheet', table(sheet.join(''))), 'a.ods')
  assert.equal(
    found.text,
    [
      '## S',
      '',
      '| a | d | e | f |',
      '| --- | --- | --- | --- |',
      '| same | same | same | same |',
      '| same | same | same | same |',
      '| wide |  |  | last |',
    ].join('\n'),
  )
  assert.equal(found.isTruncated, false)
  const many = table(row(cell('x'), 'table:number-rows-repeated="1000"'))
  assert.equal((await read(odfWith('spreadsheet', many), 'a.ods')).isTruncated, true)
})

test('slides of an OpenDocument presentation are counted', async () => {
  const page = (text: string) =>
    `<draw:page><draw:frame><text:p>${text}</text:p></draw:frame></draw:page>`
  const found = await read(odfWith('presentation', page('One') + page('Two')), 'a.odp')
  assert.deepEqual([found.text, found.pages], ['## Slide 1\n\nOne\n\n## Slide 2\n\nTwo', 2])
})

test('text that a PDF places outside of its page, or writes in specks, is not read', async () => {
  const content =
    'BT /F1 12 Tf 72 700 Td (Shown) Tj 0 -9000 Td (outside) Tj ET BT /F1 0.5 Tf 72 600 Td (speck) Tj ET'
  const pdf = pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ])
  assert.equal(await textOf(pdf, 'a.pdf'), 'Shown')
})

test('what a file is follows from its octets before its name', async () => {
  assert.equal((await read(pdfWith(['Mislabelled']), 'a.docx')).method, 'pdf')
  assert.equal((await read(Buffer.from('\x00\x01\x02'.repeat(99)), 'a.txt')).method, 'unsupported')
  assert.equal((await read(Buffer.from('not a PDF'), 'a.pdf')).method, 'failed')
})

for (const [name, octets, text] of [
  ['UTF-16', Buffer.from('\ufeffGrüße', 'utf16le'), 'Grüße'],
  ['windows-1252', Buffer.from([0x47, 0x72, 0xfc, 0xdf, 0x65]), 'Grüße'],
  ['UTF-8 with a mark', Buffer.from('\ufeffGrüße'), 'Grüße'],
  ['invisible letters', Buffer.from('pay\u200bpal\u{e0041}'), 'paypal'],
] as const) {
  test(`a text in ${name} is decoded`, async () => {
    assert.equal(await textOf(octets, 'a.txt'), text)
  })
}

for (const [name, source, table] of [
  ['semicolons', 'a;b\n"1,5";2\n', '| a | b |\n| --- | --- |\n| 1,5 | 2 |'],
  ['tabs and a line end in a cell', 'a\tb\n"x\ny"\t2', '| a | b |\n| --- | --- |\n| x y | 2 |'],
  ['the line of Excel', 'sep=|\na|b\n1|2', '| a | b |\n| --- | --- |\n| 1 | 2 |'],
  ['a quote that is never closed', 'a,b\n"1,2', '| a | b |\n| --- | --- |\n| "1 | 2 |'],
] as const) {
  test(`a table separated by ${name} is read`, async () => {
    assert.equal(await textOf(Buffer.from(source), 'a.csv'), table)
  })
}

test('a text of more than a million characters is cut and says so', async () => {
  const found = await read(Buffer.from('word '.repeat(300_000)), 'a.txt')
  assert.equal(found.text.length, 1_000_000)
  assert.equal(found.isTruncated, true)
})

test('a sheet is read no further than its text is kept, and says so', async () => {
  const row = `<row>${'<c><v>1234567890</v></c>'.repeat(100)}</row>`
  const data = `${row.repeat(1_300)}${'<row><c><v>1</c></row>'.repeat(200)}`
  const { method, isTruncated, why } = await read(xlsxWith([{ name: 'Large', data }]), 'a.xlsx')
  assert.deepEqual([method, isTruncated, why], ['office', true, null])
  const damaged = data.slice(row.length * 1_300)
  const small = await read(xlsxWith([{ name: 'Small', data: damaged }]), 'a.xlsx')
  assert.equal(small.why, 'It is damaged or incomplete.')
})

test('a sheet with room after its end is truncated where it was not read on', async () => {
  const row = `<row><c t="inlineStr"><is><t>a${' '.repeat(2_000)}b</t></is></c></row>`
  const blank = `<row><c t="inlineStr"><is><t>${' '.repeat(2_000)}</t></is></c></row>`
  const data = `${row}${blank.repeat(700)}<row><c><v>7</v></c></row>`
  const { text, isTruncated } = await read(xlsxWith([{ name: 'Blank', data }]), 'a.xlsx')
  assert.deepEqual([text.includes('| 7 |'), isTruncated], [false, true])
})

test('a table with more columns or blanks than are read says so', async () => {
  const header = Array.from({ length: 257 }, (_, index) => `c${index}`).join(',')
  const wide = await read(Buffer.from(`${header}\n1,2\n`), 'a.csv')
  assert.deepEqual([wide.text.includes('| c255 |'), wide.isTruncated], [true, true])
  const cells = `<row><c r="A1"><v>1</v></c><c r="IW1"><v>257</v></c></row>`
  const sheet = await read(xlsxWith([{ name: 'Wide', data: cells }]), 'a.xlsx')
  assert.deepEqual([sheet.text.includes('257'), sheet.isTruncated], [false, true])
  const padded = `a${' '.repeat(2_000)},b\n`.repeat(600)
  const long = await read(Buffer.from(`${padded}last,row\n`), 'a.csv')
  assert.deepEqual([long.text.includes('last'), long.isTruncated], [false, true])
  assert.equal((await read(Buffer.from('a,b\n1,2\n'), 'a.csv')).isTruncated, false)
})

test('a PDF with more pages than are read says so', async () => {
  const count = 2_001
  const content = 'BT /F1 12 Tf 72 720 Td (Page) Tj ET'
  const font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'
  const kids = Array.from({ length: count }, () => '3 0 R')
  const { pages, isTruncated } = await read(
    pdfOf([
      '<< /Type /Catalog /Pages 2 0 R >>',
      `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${count} >>`,
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 ${font} >> >> >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ]),
    'a.pdf',
  )
  assert.deepEqual([pages, isTruncated], [count, true])
})

test('words of a file are not taken for those of the program', async () => {
  assert.equal(await textOf(Buffer.from('{\\rtf1 a \\constructor b}'), 'a.rtf'), 'a b')
  const text = Buffer.from('A PDF begins with %PDF-1.4')
  assert.equal(await textOf(text, 'a.txt'), 'A PDF begins with %PDF-1.4')
  const named = { filename: 'a', contentType: 'constructor' }
  assert.equal(kindOfFile({ ...named, content: new Uint8Array([1]) }), 'other')
})
