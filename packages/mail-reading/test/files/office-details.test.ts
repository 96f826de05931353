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

/** A document with styles; `properties` of a style are those of its text. */
const docxOf = (body: string, styles: string) =>
  docxWith(body, {
    'word/_rels/document.xml.rels': relationships([['styles', 'styles.xml']]),
    'word/styles.xml': `<w:styles xmlns:w="x">${styles}</w:styles>`,
  })
const wordStyle = (type: string, id: string, { parent = '', properties = '', more = '' } = {}) =>
  `<w:style w:type="${type}" w:styleId="${id}" ${more}>${parent === '' ? '' : `<w:basedOn w:val="${parent}"/>`}<w:rPr>${properties}</w:rPr></w:style>`
const styled = (text: string, style: string, properties = '') =>
  `<w:p><w:pPr><w:pStyle w:val="${style}"/></w:pPr>${run(text, properties)}</w:p>`
const SHOW = '<w:vanish w:val="0"/>'

test('a style of Word hides text as the style does that it inherits from', async () => {
  const styles = [
    wordStyle('paragraph', 'Far', { parent: 'Near' }),
    wordStyle('paragraph', 'Near', { parent: 'Secret', properties: '<w:b/>' }),
    wordStyle('paragraph', 'Secret', { properties: '<w:vanish/>' }),
    wordStyle('paragraph', 'Open', { parent: 'Far', properties: SHOW }),
    wordStyle('paragraph', 'Below', { parent: 'Open' }),
    wordStyle('paragraph', 'Round', { parent: 'About' }),
    wordStyle('paragraph', 'About', { parent: 'Round' }),
    wordStyle('paragraph', 'Mixed', { parent: 'Hush' }),
    wordStyle('character', 'Whisper', { parent: 'Hush' }),
    wordStyle('character', 'Hush', { properties: '<w:vanish/>' }),
    wordStyle('character', 'Aloud', { parent: 'Whisper', properties: SHOW }),
    wordStyle('paragraph', 'Former', {
      properties: '<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>',
    }),
    '<w:style w:type="paragraph" w:styleId="Odd"><w:pPr><w:vanish/></w:pPr></w:style>',
    // The first style of an id counts.
    wordStyle('paragraph', 'Secret'),
  ]
  const body = [
    styled('far', 'Far'),
    styled('near', 'Near'),
    styled('Open', 'Open'),
    styled('Below', 'Below'),
    styled('Round', 'Round'),
    styled('About', 'About'),
    // Styles inherit from those of their type.
    styled('Mixed', 'Mixed'),
    styled('Former', 'Former'),
    styled('Odd', 'Odd'),
    styled('Unknown', 'Nowhere'),
    `<w:p>${run('whisper', '<w:rStyle w:val="Whisper"/>')}${run('Aloud', '<w:rStyle w:val="Aloud"/>')}</w:p>`,
    // Two styles that hide show, and one that shows does not take back what the other hides: §17.7.3.
    styled('Twice', 'Far', '<w:rStyle w:val="Whisper"/>'),
    styled('once', 'Far', '<w:rStyle w:val="Aloud"/>'),
    styled('not here', 'Open', '<w:rStyle w:val="Whisper"/>'),
  ]
  assert.deepEqual((await textOf(docxOf(body.join(''), styles.join('')), 'a.docx')).split('\n\n'), [
    'Open',
    'Below',
    'Round',
    'About',
    'Mixed',
    'Former',
    'Odd',
    'Unknown',
    'Aloud',
    'Twice',
  ])
})

test('defaults, default styles and styles of tables hide text of a Word document', async () => {
  const hidden = { properties: '<w:vanish/>' }
  const defaults =
    '<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults>'
  const open = wordStyle('paragraph', 'Open', { properties: SHOW })
  const plain = `<w:p>${run('Plain', '')}</w:p>`
  const both = `${plain}${styled('Open', 'Open')}<w:p>${run('Direct', SHOW)}</w:p>`
  assert.equal(await textOf(docxOf(both, defaults + open), 'a.docx'), 'Open\n\nDirect')
  const normal = wordStyle('paragraph', 'Normal', { ...hidden, more: 'w:default="1"' })
  assert.equal(await textOf(docxOf(both, normal + open), 'a.docx'), 'Open\n\nDirect')
  const unmarked = wordStyle('paragraph', 'Normal', { ...hidden, more: 'w:default="0"' })
  assert.equal(await textOf(docxOf(plain, unmarked), 'a.docx'), 'Plain')
  const letters = wordStyle('character', 'Font', { ...hidden, more: 'w:default="1"' })
  assert.equal(await textOf(docxOf(plain + styled('x', 'Open'), letters + open), 'a.docx'), '')
  const table = (style: string, text: string) =>
    `<w:tbl><w:tblPr>${style}</w:tblPr><w:tr><w:tc><w:p>${run(text, '')}</w:p></w:tc></w:tr></w:tbl>`
  const tables = [
    plain,
    table('<w:tblStyle w:val="Child"/>', 'styled'),
    table('<w:tblStyle w:val="Rows"/>', 'By row'),
    table('', 'Unstyled'),
  ]
  const tableStyles = [
    wordStyle('table', 'Child', { parent: 'Grid' }),
    `<w:style w:type="table" w:styleId="Grid"><w:tblStylePr w:type="wholeTable"><w:rPr><w:vanish/></w:rPr></w:tblStylePr></w:style>`,
    `<w:style w:type="table" w:styleId="Rows"><w:tblStylePr w:type="firstRow"><w:rPr><w:vanish/></w:rPr></w:tblStylePr></w:style>`,
  ]
  assert.equal(
    await textOf(docxOf(tables.join(''), tableStyles.join('')), 'a.docx'),
    'Plain\n\n| By row |\n| --- |\n\n| Unstyled |\n| --- |',
  )
  const everyTable = wordStyle('table', 'Any', { ...hidden, more: 'w:default="1"' })
  assert.equal(
    await textOf(docxOf(tables.join(''), tableStyles.join('') + everyTable), 'a.docx'),
    'Plain\n\n| By row |\n| --- |',
  )
})

test('former properties, controls and boxes of Word do not show what is hidden, nor hide what is shown', async () => {
  const change = (properties: string) => `<w:rPrChange><w:rPr>${properties}</w:rPr></w:rPrChange>`
  const box = (text: string) => `<w:txbxContent><w:p>${run(text, '')}</w:p></w:txbxContent>`
  const drawing = (mark: string, text: string) =>
    `<w:r><w:drawing><wp:anchor><wp:docPr id="1" ${mark}/><wps:wsp>${box(text)}</wps:wsp></wp:anchor></w:drawing></w:r>`
  const body = [
    `<w:p>${run('hidden now', `<w:vanish/>${change(SHOW)}`)}${run('Shown now', change('<w:vanish/>'))}</w:p>`,
    `<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>before</w:t><w:pict>${box('box of a hidden run')}</w:pict><w:t>after</w:t></w:r></w:p>`,
    `<w:p><w:r><w:pict>${box('In a box')}<w:sdt><w:sdtPr><w:rPr><w:vanish/></w:rPr></w:sdtPr></w:sdt></w:pict><w:t>Beside</w:t></w:r></w:p>`,
    `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>${drawing('hidden="1"', 'hidden box')}${drawing('hidden="0"', 'Seen box')}<w:r><w:t>Under</w:t></w:r></w:p>`,
    `<w:p><w:r><w:pict><v:shape style="left:0;visibility: hidden">${box('hidden shape')}</v:shape></w:pict><w:t x:val="1">Last</w:t></w:r></w:p>`,
    `<w:p><w:r><w:drawing><wp:anchor><wp:docPr id="1"/><wpc:wpc><wpg:wgp><wpg:cNvPr id="2" hidden="1"/><wps:wsp>${box('hidden group')}</wps:wsp></wpg:wgp><wps:wsp>${box('Beside the group')}</wps:wsp></wpc:wpc></wp:anchor></w:drawing></w:r></w:p>`,
    `<w:p><w:r><w:sdt><w:sdtEndPr><w:rPr><w:vanish/></w:rPr></w:sdtEndPr></w:sdt><w:t>Control</w:t></w:r></w:p>`,
    `<w:p>${run('by another attribute', '<w:vanish x:val="0"/>').replace('x:val="0"', 'x:val="0" w:val="1"')}</w:p>`,
  ]
  assert.deepEqual((await textOf(docxWith(body.join('')), 'a.docx')).split('\n\n'), [
    'Shown now',
    'In a box',
    'Beside',
    'Seen box',
    '# Under',
    'Last',
    'Beside the group',
    'Control',
  ])
})

test('the innermost run of a Word document that says whether it is hidden decides', async () => {
  const ruby = (outer: string, inner: string, text: string) =>
    `<w:r><w:rPr>${outer}</w:rPr><w:ruby><w:rubyBase>${run(text, inner)}</w:rubyBase></w:ruby></w:r>`
  const character = (style: string) => `<w:rStyle w:val="${style}"/>`
  const styles = [
    wordStyle('paragraph', 'Secret', { properties: '<w:vanish/>' }),
    wordStyle('character', 'Hush', { properties: '<w:vanish/>' }),
    wordStyle('character', 'Bold', { properties: '<w:b/>' }),
  ].join('')
  const secret = (content: string) =>
    `<w:p><w:pPr><w:pStyle w:val="Secret"/></w:pPr>${content}</w:p>`
  const body = [
    secret(ruby('', SHOW, 'Inner') + ruby('', '', 'by the paragraph')),
    secret(ruby(SHOW, '', 'Outer')),
    `<w:p>${ruby('', '<w:vanish/>', 'inner')}${ruby('<w:vanish/>', '', 'outer')}${ruby('<w:vanish/>', character('Bold'), 'bold')}</w:p>`,
    `<w:p>${ruby(SHOW, character('Hush'), 'by a style')}${ruby(character('Hush'), '', 'around')}${ruby('', '', 'Plain')}</w:p>`,
  ].join('')
  assert.equal(await textOf(docxOf(body, styles), 'a.docx'), 'Inner\n\nOuter\n\nPlain')
})

test('the codes of fields of a Word document are not read, and their results are', async () => {
  const mark = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`
  const field = (code: string, result: string) =>
    `${mark('begin')}${code}${mark('separate')}${result}${mark('end')}`
  const text = (value: string) => run(value, '')
  const box = (content: string) =>
    `<w:r><w:pict><w:txbxContent><w:p>${content}</w:p></w:txbxContent></w:pict></w:r>`
  const body = [
    `<w:p>${text('Dear ')}${field(`<w:r><w:instrText>IF</w:instrText></w:r>${field('', text('code'))}${text('code')}`, text('Sir'))}!</w:p>`,
    `<w:p>${text('Before')}${mark('begin')}</w:p><w:p>${text('code over paragraphs')}${box(text('and in a box'))}</w:p><w:p>${mark('end')}${text('After')}</w:p>`,
    `<w:p>${mark('end')}${mark('separate')}${text('Stray')}</w:p>`,
  ]
  const shown = async (...more: readonly string[]) =>
    (await textOf(docxWith([...body, ...more].join('')), 'a.docx')).split('\n\n')
  const all = ['Dear Sir', 'Before', 'After', 'Stray']
  assert.deepEqual(await shown(), all)
  // What never ends is no field: of its text nothing is lost.
  const open = `<w:p>${mark('begin')}${text('Open')}${field(text('code'), text('Result'))}</w:p>`
  assert.deepEqual(await shown(open, wordParagraph('End')), [...all, 'OpenResult', 'End'])
  const openBox = `<w:p>${box(mark('begin') + text('Box'))}${text('Beside')}${mark('end')}</w:p>`
  assert.deepEqual(await shown(openBox), [...all, 'Box', 'Beside'])
  const within = `<w:p>${mark('begin')}${box(mark('end') + text('code'))}${text('code')}${mark('end')}${text('Behind')}</w:p>`
  assert.deepEqual(await shown(within), [...all, 'Behind'])
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
  const field = '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r></w:p>'
  const unclosed = `<w:hdr xmlns:w="x">${wordParagraph('Top')}${field}${wordParagraph('Letterhead')}</w:hdr>`
  const headers = docxWith(wordParagraph('Body'), {
    'word/_rels/document.xml.rels': relationships([
      ['header', 'header1.xml'],
      ['header', 'header2.xml'],
    ]),
    'word/header1.xml': unclosed,
    'word/header2.xml': unclosed,
  })
  assert.equal(await textOf(headers, 'a.docx'), 'Top\n\nLetterhead\n\nBody')
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

test('numbers of a workbook are read as they are shown, and formulas without a result are counted', async () => {
  const cases: [code: string, value: number, shown: string][] = [
    ['0%', 0.25, '25%'],
    ['#,##0.00', 1_234_567.891, '1,234,567.89'],
    ['0.00', 3, '3.00'],
    ['[$€-407] #,##0.00', 1234.5, '€ 1,234.50'],
    ['_-* #,##0.00 "kg"_-;-* #,##0.00 "kg"_-', -1234.5, '-1,234.50 kg'],
    ['"$"#,##0;[Red]("$"#,##0)', -1234.5, '($1,235)'],
    ['0.00E+00', 123_456, '1.23E+05'],
    ['00000', 42, '00042'],
    ['0,,"M"', 12_345_678, '12M'],
    ['[>1000]0.0,"k";0', 2_500, '2.5k'],
    ['# ?/?', 1.5, '1 1/2'],
    ['General', 1_234_567.891, '1234567.891'],
    ['yyyy\\-mm\\-dd', 46_023, '2026-01-01'],
    ['"kg', 5, '5'],
    ['"none"', 5, '5'],
    ['0'.repeat(100_000), 5, '5'],
  ]
  const xml = (text: string) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('"', '&quot;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
  const own = cases.map(
    ([code], at) => `<numFmt numFmtId="${200 + at}" formatCode="${xml(code)}"/>`,
  )
  const builtIn: [id: number, value: number, shown: string][] = [
    [9, 0.5, '50%'],
    [10, 0.12345, '12.35%'],
    [3, 1234.5, '1,235'],
    [4, 1234.5, '1,234.50'],
  ]
  const ids = [...cases.map((_, at) => 200 + at), ...builtIn.map(([id]) => id)]
  const cells = [...cases, ...builtIn].map(([, value], at) => `<c s="${at}"><v>${value}</v></c>`)
  const formulas =
    '<c><f>A1+1</f></c><c><f>A1</f><v></v></c><c t="str"><f>""</f><v></v></c><c><f>2</f><v>2</v></c>'
  const content = xlsxWith(
    [{ name: 'One', data: `<row>${cells.join('')}</row><row>${formulas}</row>` }],
    {
      'xl/styles.xml': `<styleSheet><numFmts>${own.join('')}</numFmts><cellXfs>${ids.map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`,
    },
  )
  const text = await textOf(content, 'a.xlsx')
  const [, , row = ''] = text.split('\n')
  const shown = [...cases, ...builtIn].map(([, , one]) => one)
  assert.deepEqual(row.slice(2, -2).split(' | '), shown)
  assert.match(text, /\n\[left out: 2 formulas without a stored result\]$/)
})

test('values of which a workbook shows nothing are not read', async () => {
  const codes = [
    'General',
    ';;;',
    '0;-0;;@',
    ';',
    '[White]"" ;_-;\\ ;* ',
    '"no";"; ;"',
    '[&gt;5];;;',
    '&quot;a&quot;;;',
    '[Red]',
    ';@',
    '0;@',
    ';;@',
    ';&quot;@&quot;',
    '0;;;',
    ';[',
  ]
  const styles = `<styleSheet><numFmts>${codes.map((code, n) => `<numFmt numFmtId="${164 + n}" formatCode="${code.replaceAll('"', '&quot;')}"/>`).join('')}</numFmts><cellXfs>${codes.map((_, n) => `<xf numFmtId="${164 + n}"/>`).join('')}</cellXfs></styleSheet>`
  const row = (style: number) =>
    `<row>${[1, -2, 0].map((value) => `<c s="${style}"><v>${value}</v></c>`).join('')}<c s="${style}" t="inlineStr"><is><t>text ${style}</t></is></c><c s="${style}" t="b"><v>1</v></c></row>`
  const data = [
    ...codes.map((_, n) => row(n)),
    '<row ht="0" customHeight="1"><c><v>9</v></c></row>',
    '<row ht="15"><c><v>8</v></c><c r="F1"><v>7</v></c></row>',
    '<row ht=""><c><v>6</v></c><c><v>5</v></c></row>',
  ]
  const before =
    '<cols><col min="2" max="2" width=""/><col min="6" max="6" width="0" customWidth="1"/></cols>'
  const content = xlsxWith([{ name: 'One', data: data.join(''), before }], {
    'xl/styles.xml': styles,
  })
  assert.deepEqual((await textOf(content, 'a.xlsx')).split('\n').slice(2), [
    '| 1 | -2 | 0 | text 0 | TRUE |',
    '| --- | --- | --- | --- | --- |',
    '| 1 | -2 |  | text 2 | TRUE |',
    '|  |  |  | text 3 | TRUE |',
    '| 1 | -2 | 0 | text 5 | TRUE |',
    '| 1 | -2 | 0 | text 6 | TRUE |',
    '| 1 |  |  | text 7 | TRUE |',
    '| 1 | -2 | 0 | text 8 | TRUE |',
    '|  |  |  | text 9 | TRUE |',
    '| 1 | -2 | 0 | text 10 | TRUE |',
    '|  |  |  | text 11 | TRUE |',
    '|  | -2 |  | text 12 | TRUE |',
    '| 1 |  |  |  |  |',
    '|  | -2 |  | text 14 | TRUE |',
    '| 8 |  |  |  |  |',
    '| 6 | 5 |  |  |  |',
  ])
  const first = xlsxWith([{ name: 'One', data: '<row><c><v>1</v></c></row>' }], {
    'xl/styles.xml': styles.replace('General', ';;;'),
  })
  assert.equal(await textOf(first, 'a.xlsx'), '')
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

test('hidden shapes of a presentation are left out, and those with a text are counted', async () => {
  const mark = (name: string, hidden: string) =>
    `<p:nv${name}Pr><p:cNvPr id="3" name="x"${hidden}/></p:nv${name}Pr>`
  const group = (hidden: string, content: string) =>
    `<p:grpSp>${mark('GrpSp', hidden)}<p:grpSpPr/>${content}</p:grpSp>`
  const frame = (hidden: string, text: string) =>
    `<p:graphicFrame>${mark('GraphicFrame', hidden)}<a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
  const picture = `<p:pic>${mark('Pic', ' hidden="1"')}<p:blipFill/></p:pic>`
  const shapes = [
    shape(['Title'], 'title'),
    shape(['secret', 'twice'], '', 'hidden="1"'),
    shape(['Shown'], '', 'hidden="0"'),
    group(' hidden="true"', shape(['in a group']) + group('', shape(['deeper']))),
    // A mark outside of shapes.
    `<p:x><p:x>${mark('GrpSp', ' hidden="1"')}${shape(['Of the slide'])}</p:x></p:x>`,
    group('', shape(['Kept']) + shape(['not kept'], '', 'hidden="1"') + shape(['Also kept'])),
    frame(' hidden="1"', 'table'),
    frame('', 'Cell'),
    picture,
    shape([''], '', 'hidden="1"'),
    shape(['Last']),
  ]
  const content = pptxWith([{ shapes: shapes.join('') }, { shapes: shape(['x']), isHidden: true }])
  const { text } = await read(content, 'a.pptx')
  assert.deepEqual(text.split('\n\n'), [
    '## Slide 1',
    '### Title',
    'Shown',
    'Of the slide',
    'Kept',
    'Also kept',
    '| Cell |\n| --- |',
    'Last',
    '[left out: 1 hidden slide, 4 hidden shapes]',
  ])
})

test('hidden and deleted text of OpenDocument files is not read', async () => {
  const styles =
    '<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>'
  const body = [
    '<text:tracked-changes><text:changed-region><text:deletion><text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>',
    '<text:p>Shown<text:s text:c="2"/>text<text:tab/>here<text:span text:style-name="T1"> hidden</text:span></text:p>',
    '<text:p>Next<text:line-break/>line</text:p>',
  ]
  const content = odfWith('text', body.join(''), { styles })
  assert.equal(await textOf(content, 'a.odt'), 'Shown  text\there\n\nNext\nline')
})

const odfStyle = (
  family: string,
  name: string,
  {
    parent = '',
    display = '',
    tag = 'style',
  }: { parent?: string; display?: string; tag?: string } = {},
) => {
  const properties =
    {
      table: `<style:table-properties table:display="${display}"/>`,
      'drawing-page': `<style:drawing-page-properties presentation:visibility="${display}"/>`,
    }[family] ?? `<style:text-properties text:display="${display}"/>`
  return `<style:${tag} style:family="${family}" style:name="${name}"${parent === '' ? '' : ` style:parent-style-name="${parent}"`}>${display === '' ? '' : properties}</style:${tag}>`
}
const common = (...styles: readonly string[]) => `<office:styles>${styles.join('')}</office:styles>`

test('common styles of an OpenDocument text hide, also those that others inherit from', async () => {
  const stylesPart = [
    common(
      odfStyle('paragraph', 'Far', { parent: 'Near' }),
      odfStyle('paragraph', 'Near', { parent: 'Secret' }),
      odfStyle('paragraph', 'Secret', { display: 'none' }),
      odfStyle('paragraph', 'Open', { parent: 'Far', display: 'true' }),
      odfStyle('paragraph', 'Round', { parent: 'About' }),
      odfStyle('paragraph', 'About', { parent: 'Round' }),
      odfStyle('text', 'Hush', { display: 'none' }),
      odfStyle('text', 'Same', { display: 'none' }),
      odfStyle('paragraph', 'Same'),
      // A label of a list is no style.
      '<text:list-style style:name="L"><style:text-properties text:display="none"/></text:list-style>',
    ),
    `<office:automatic-styles>${odfStyle('paragraph', 'P3', { display: 'none' })}</office:automatic-styles>`,
  ]
  const styles = [
    odfStyle('paragraph', 'P1', { parent: 'Far' }),
    odfStyle('paragraph', 'P2', { parent: 'Near', display: 'true' }),
    odfStyle('text', 'T1', { parent: 'Hush' }),
    odfStyle('text', 'T2', { display: 'true' }),
  ]
  const p = (style: string, content: string) =>
    `<text:p text:style-name="${style}">${content}</text:p>`
  const span = (style: string, text: string) =>
    `<text:span text:style-name="${style}">${text}</text:span>`
  const body = [
    p('Far', 'far'),
    p('P1', `automatic${span('T2', 'Shown in it')}`),
    p('P2', `Open${span('T1', ' hush')}${span('Hush', ' too')} again`),
    p('Open', 'Common'),
    p('Round', 'Round'),
    p('Same', 'Same'),
    p('P3', 'Of the header'),
    p('Nowhere', 'Unknown'),
    '<text:p x:style-name="Open" text:style-name="Far">by another attribute</text:p>',
    '<text:p>Plain</text:p>',
  ].join('')
  const shown = async (more: string) =>
    (
      await textOf(odfWith('text', body, { styles: styles.join(''), stylesPart: more }), 'a.odt')
    ).split('\n\n')
  const all = ['Shown in it', 'Open again', 'Common', 'Round', 'Same', 'Of the header', 'Unknown']
  assert.deepEqual(await shown(stylesPart.join('')), [...all, 'Plain'])
  const standard = common(odfStyle('paragraph', 'Standard', { display: 'none' }))
  assert.ok(!(await shown(standard)).includes('Plain'))
  const byDefault = common(
    odfStyle('paragraph', '', { tag: 'default-style', display: 'none' }),
    odfStyle('paragraph', 'Open', { display: 'true' }),
  )
  assert.deepEqual(await shown(byDefault), ['Shown in it', 'Open hush too again', 'Common'])
})

test('hidden sections, fields and paragraphs of an OpenDocument text are not read', async () => {
  const section = (of: string, text: string) =>
    `<text:section text:name="S" ${of}><text:p>${text}</text:p></text:section>`
  const paragraph = (of: string, text: string) =>
    `<text:p><text:hidden-paragraph text:condition="ooow:x" ${of}/>${text}</text:p>`
  const hiddenText = (of: string, text: string) =>
    `<text:hidden-text text:condition="ooow:x" ${of}>${text}</text:hidden-text>`
  const body = [
    section('text:display="none"', 'hidden'),
    section('text:display="condition" text:condition="ooow:1"', 'By a condition'),
    section('text:display="condition" text:is-hidden="true"', 'saved as hidden'),
    section('text:display="condition" text:is-hidden="false"', 'Saved as shown'),
    section('text:display="true"', 'Section'),
    section('text:display="none"', 'outer</text:p><text:p>') + section('', 'After it'),
    paragraph('text:is-hidden="true"', 'hidden paragraph'),
    paragraph('', 'Also shown'),
    paragraph('text:is-hidden="false"', 'Paragraph'),
    `<text:p>Texts${hiddenText('text:is-hidden="true"', 'hidden text')}${hiddenText('', ' of a field')}</text:p>`,
    '<text:p>Field<text:variable-set text:display="none">hidden value</text:variable-set><text:variable-set text:display="value"> 7</text:variable-set></text:p>',
    '<text:p>Text<draw:frame draw:display="none"><draw:text-box><text:p>hidden box</text:p></draw:text-box></draw:frame></text:p>',
  ]
  assert.deepEqual((await textOf(odfWith('text', body.join('')), 'a.odt')).split('\n\n'), [
    'By a condition',
    'Saved as shown',
    'Section',
    'After it',
    'Also shown',
    'Paragraph',
    'Texts of a field',
    'Field 7',
    'Text',
    '[left out: 1 hidden shape]',
  ])
})

test('sheets, groups, slides and shapes that an OpenDocument file hides are counted', async () => {
  const stylesPart = [
    common(
      odfStyle('table', 'Gone', { display: 'false' }),
      odfStyle('drawing-page', 'Away', { display: 'hidden' }),
      odfStyle('graphic', 'Mute', { display: 'none' }),
      odfStyle('presentation', 'Still', { display: 'none' }),
    ),
    '<office:master-styles><draw:layer-set><draw:layer draw:name="back" draw:display="none"/><draw:layer draw:name="front" draw:display="always"/></draw:layer-set></office:master-styles>',
  ].join('')
  const styles = [
    odfStyle('table', 'ta1', { parent: 'Gone' }),
    odfStyle('table', 'ta2', { parent: 'Gone', display: 'true' }),
    odfStyle('drawing-page', 'dp1', { parent: 'Away' }),
    odfStyle('drawing-page', 'dp2', { parent: 'Away', display: 'visible' }),
    odfStyle('graphic', 'gr1', { parent: 'Mute' }),
  ].join('')
  const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`
  const row = (...texts: readonly string[]) =>
    `<table:table-row>${texts.map(cell).join('')}</table:table-row>`
  const sheet = (name: string, style: string, content: string) =>
    `<table:table table:name="${name}" table:style-name="${style}">${content}</table:table>`
  const group = (part: string, content: string) =>
    `<table:table-${part}-group table:display="false">${content}</table:table-${part}-group>`
  const column = '<table:table-column/>'
  const columns = `${column}${group('column', column)}${column}`
  const book = [
    sheet('One', 'ta1', row('secret')),
    sheet('Two', 'ta2', `${columns}${row('a', 'b', 'c')}${group('row', row('d', 'e', 'f'))}`),
  ].join('')
  assert.equal(
    await textOf(odfWith('spreadsheet', book, { styles, stylesPart }), 'a.ods'),
    '## Two\n\n| a | c |\n| --- | --- |\n\n[left out: 1 hidden sheet]',
  )
  const shape = (of: string, text: string) =>
    `<draw:custom-shape ${of}><text:p>${text}</text:p></draw:custom-shape>`
  const page = (style: string, ...shapes: readonly string[]) =>
    `<draw:page draw:style-name="${style}">${shapes.join('')}</draw:page>`
  const slides = [
    page('dp1', shape('', 'secret')),
    page(
      'dp2',
      shape('draw:layer="back"', 'layer'),
      shape('draw:layer="front"', 'Front'),
      `<draw:g draw:display="none">${shape('', 'group')}${shape('', 'two')}</draw:g>`,
      shape('draw:display="printer"', 'printed'),
      shape('draw:display="none"', ''),
      shape('draw:style-name="gr1"', 'mute'),
      shape('presentation:style-name="x" draw:style-name="gr1"', 'mute too'),
      shape('presentation:style-name="Still" draw:style-name="x"', 'still'),
      shape('draw:display="always"', 'Last'),
    ),
  ].join('')
  const found = await read(odfWith('presentation', slides, { styles, stylesPart }), 'a.odp')
  assert.deepEqual(
    [found.text, found.pages],
    ['## Slide 2\n\nFront\n\nLast\n\n[left out: 1 hidden slide, 3 hidden shapes]', 2],
  )
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
