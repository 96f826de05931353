import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { deflateSync } from 'node:zlib'
import { readFile } from '#files/read-file.ts'
import { StyleChains } from '#files/style-chains.ts'
import { WordFields } from '#files/word-fields.ts'
import { CONTENTS } from './sample-contents.ts'
import * as files from './sample-files.ts'
import {
  docxWith,
  odfWith,
  pdfOf,
  pdfWith,
  wordParagraph,
  xlsxWith,
  zipOf,
} from './sample-files.ts'

const read = (content: Uint8Array, filename: string) =>
  readFile({ content: new Uint8Array(content), filename, contentType: 'application/octet-stream' })

const outcomeOf = async (content: Uint8Array, filename: string) => {
  const { method, text, why } = await read(content, filename)
  return why === null ? `${method}: ${text}` : `${method}! ${why}`
}

test('an archive within an archive, six deep, is not opened', async () => {
  let bomb = zipOf({ 'zeros.bin': new Uint8Array(20_000_000) })
  for (let depth = 0; depth < 6; depth++) {
    bomb = zipOf(Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`${n}.zip`, bomb])))
  }
  assert.equal(await outcomeOf(bomb, 'bomb.zip'), 'unsupported! It is of a kind that is not read.')
  const inside = zipOf({
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': files.relationships([['officeDocument', 'word/document.xml']]),
    'word/document.xml': `<w:document><w:body>${wordParagraph('Text')}</w:body></w:document>`,
    'word/embeddings/bomb.zip': bomb,
  })
  assert.equal(await outcomeOf(inside, 'a.docx'), 'office: Text')
})

test('a part that inflates to more than 50 MiB is too large, also if the directory says otherwise', async () => {
  const spaces = ' '.repeat(60 * 1024 * 1024)
  const bomb = Buffer.from(docxWith(`${spaces}${wordParagraph('Text')}`))
  assert.ok(bomb.length < 1_000_000)
  const outcome = 'too_large! It has more than 50 MiB when inflated.'
  assert.equal(await outcomeOf(bomb, 'a.docx'), outcome)
  // The size in the directory's entry of the document.
  const at = bomb.lastIndexOf('word/document.xml') - 46 + 24
  bomb.writeUInt32LE(10, at)
  assert.equal(await outcomeOf(bomb, 'a.docx'), outcome)
})

test('elements within each other end at 64', async () => {
  const deep = (depth: number) =>
    docxWith(`${'<w:sdt>'.repeat(depth)}${wordParagraph('Deep')}${'</w:sdt>'.repeat(depth)}`)
  assert.equal(await outcomeOf(deep(50), 'a.docx'), 'office: Deep')
  assert.equal(
    await outcomeOf(deep(70), 'a.docx'),
    'failed! It is nested more than 64 levels deep.',
  )
  const rtf = Buffer.from(`{\\rtf1 ${'{'.repeat(100_000)}text`)
  assert.match(await outcomeOf(rtf, 'a.rtf'), /^failed! It is nested more than/)
})

test('an entity is not resolved, be it in the file, on this machine or far away', async () => {
  const withEntities = (definitions: string, use: string) =>
    zipOf({
      '[Content_Types].xml': '<Types/>',
      '_rels/.rels': files.relationships([['officeDocument', 'word/document.xml']]),
      'word/document.xml': `<?xml version="1.0"?><!DOCTYPE w:document [${definitions}]><w:document><w:body><w:p><w:r><w:t>a ${use} z</w:t></w:r></w:p></w:body></w:document>`,
    })
  for (const definition of [
    '<!ENTITY e SYSTEM "file:///etc/passwd">',
    '<!ENTITY e SYSTEM "http://127.0.0.1:9/x">',
    '<!ENTITY e "inner">',
  ]) {
    assert.equal(await outcomeOf(withEntities(definition, '&e;'), 'a.docx'), 'office: a &e; z')
  }
  const laughs = Array.from(
    { length: 20 },
    (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`,
  )
  const bomb = withEntities(`<!ENTITY l0 "ha">${laughs.join('')}`, '&l20;')
  assert.equal(await outcomeOf(bomb, 'a.docx'), 'office: a &l20; z')
})

test('encrypted files say that they are', async () => {
  const container = Buffer.concat([
    Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    Buffer.alloc(1_000),
    Buffer.from('EncryptedPackage', 'utf16le'),
    randomBytes(500),
  ])
  const odt = odfWith('text', '<text:p>x</text:p>', { manifest: '<manifest:encryption-data/>' })
  const zip = Buffer.from(docxWith(wordParagraph('x')))
  for (let at = zip.indexOf('PK\x01\x02'); at !== -1; at = zip.indexOf('PK\x01\x02', at + 1)) {
    zip[at + 8] = (zip[at + 8] ?? 0) | 1
  }
  const pdf = pdfWith(['x'], {
    encrypt: `/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >> /ID [<00> <00>]`,
  })
  for (const [content, name] of [
    [container, 'a.docx'],
    [odt, 'a.odt'],
    [zip, 'a.docx'],
    [pdf, 'a.pdf'],
  ] as const) {
    assert.equal(await outcomeOf(content, name), 'failed! It is encrypted.', name)
  }
})

test('a file that is cut anywhere has an outcome', async () => {
  const [content] = CONTENTS
  if (content === undefined) throw new Error('There are no contents.')
  const whole = {
    'a.docx': files.docx(content),
    'a.xlsx': files.xlsx(content),
    'a.pptx': files.pptx(content),
    'a.odt': files.odt(content),
    'a.pdf': files.pdf(content),
    'a.rtf': files.rtf(content),
    'a.html': files.html(content),
    'a.eml': files.eml(content),
  }
  for (const [name, octets] of Object.entries(whole)) {
    for (let part = 1; part < 8; part++) {
      const { method, why } = await read(octets.subarray(0, (octets.length * part) / 8), name)
      const isZip = /docx|xlsx|pptx|odt/.test(name)
      if (isZip) assert.deepEqual([method, why], ['failed', 'It is damaged or incomplete.'], name)
      else assert.notEqual(method, 'unsupported', name)
    }
  }
})

test('any octets have an outcome', async () => {
  for (const name of ['a.pdf', 'a.docx', 'a.rtf', 'a.csv', 'a.html', 'a.eml', 'a.txt']) {
    for (const head of [
      '',
      '%PDF-1.7\n',
      'PK\x03\x04',
      '{\\rtf1 ',
      '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
    ]) {
      const octets = Buffer.concat([Buffer.from(head, 'latin1'), randomBytes(2_000)])
      assert.ok((await read(octets, name)).method)
    }
  }
})

test('cells far away and repeated cells take no memory', async () => {
  const far = xlsxWith([
    {
      name: 'Far',
      data: '<row r="1048576"><c r="XFD1048576"><v>1</v></c><c r="A1"><v>2</v></c></row>',
    },
  ])
  assert.equal(await outcomeOf(far, 'a.xlsx'), 'office: ## Far\n\n| 2 |\n| --- |')
  const repeated = odfWith(
    'spreadsheet',
    '<table:table table:name="R"><table:table-row><table:table-cell table:number-columns-repeated="1000000000"><text:p>x</text:p></table:table-cell></table:table-row></table:table>',
  )
  const { text } = await read(repeated, 'a.ods')
  assert.ok(text.length < 5_000)
})

test('styles that inherit from each other over 100,000 steps, or in a circle, are each passed once', () => {
  const count = 100_000
  for (const last of [true, null]) {
    const chains = new StyleChains()
    for (let n = 0; n < count; n++) chains.add(`${n}`, { isHidden: null, parent: `${n + 1}` })
    chains.add(`${count}`, { isHidden: last, parent: last === null ? '0' : null })
    for (let n = 0; n <= count; n++) assert.equal(chains.isHidden(`${n}`), last)
  }
})

test('a long chain of styles and a circle in a file have an outcome', async () => {
  const numbers = Array.from({ length: 20_000 }, (_, n) => n)
  const docx = (last: string) =>
    docxWith(wordParagraph('Chain', '<w:pStyle w:val="s0"/>') + wordParagraph('End'), {
      'word/_rels/document.xml.rels': files.relationships([['styles', 'styles.xml']]),
      'word/styles.xml': `<w:styles xmlns:w="x">${numbers.map((n) => `<w:style w:type="paragraph" w:styleId="s${n}"><w:basedOn w:val="s${n + 1}"/></w:style>`).join('')}<w:style w:type="paragraph" w:styleId="s${numbers.length}">${last}</w:style></w:styles>`,
    })
  const odt = (last: string) =>
    odfWith('text', '<text:p text:style-name="s0">Chain</text:p><text:p>End</text:p>', {
      stylesPart: `<office:styles>${numbers.map((n) => `<style:style style:family="paragraph" style:name="s${n}" style:parent-style-name="s${n + 1}"/>`).join('')}<style:style style:family="paragraph" style:name="s${numbers.length}" ${last}</style:style></office:styles>`,
    })
  for (const [content, name, text] of [
    [docx('<w:rPr><w:vanish/></w:rPr>'), 'a.docx', 'End'],
    [docx('<w:basedOn w:val="s0"/>'), 'a.docx', 'Chain\n\nEnd'],
    [odt('><style:text-properties text:display="none"/>'), 'a.odt', 'End'],
    [odt('style:parent-style-name="s0">'), 'a.odt', 'Chain\n\nEnd'],
  ] as const) {
    assert.equal(await outcomeOf(content, name), `office: ${text}`)
  }
})

test('a file with more styles than are kept says so', async () => {
  const style = (n: number) => `<w:style w:type="paragraph" w:styleId="${n.toString(36)}"/>`
  const content = docxWith(wordParagraph('Text'), {
    'word/_rels/document.xml.rels': files.relationships([['styles', 'styles.xml']]),
    'word/styles.xml': `<w:styles>${Array.from({ length: 200_001 }, (_, n) => style(n)).join('')}</w:styles>`,
  })
  assert.equal(await outcomeOf(content, 'a.docx'), 'too_large! It has too many styles.')
})

/** Milliseconds of the processor, which other programs do not lengthen. */
const costOf = async (reading: () => Promise<unknown>) => {
  const before = process.cpuUsage()
  await reading()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

test('a long name of a style is not compared again for each text', async () => {
  const id = 's'.repeat(2_000_000)
  const runs = '<w:r><w:t>a</w:t></w:r>'.repeat(5_000)
  const content = docxWith(
    `<w:p><w:pPr><w:pStyle w:val="${id}"/></w:pPr>${runs}</w:p>${wordParagraph('End')}`,
    {
      'word/_rels/document.xml.rels': files.relationships([['styles', 'styles.xml']]),
      'word/styles.xml': `<w:styles><w:style w:type="paragraph" w:styleId="${id}"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>`,
    },
  )
  const cost = await costOf(async () =>
    assert.equal(await outcomeOf(content, 'a.docx'), 'office: End'),
  )
  assert.ok(cost < 3_000, `${cost} ms`)
})

test('brackets in a format of a workbook that are not closed are each passed once', async () => {
  const content = xlsxWith([{ name: 'One', data: '<row><c><v>1</v></c></row>' }], {
    'xl/styles.xml': `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0;${'['.repeat(100_000)}"/></numFmts><cellXfs><xf numFmtId="164"/></cellXfs></styleSheet>`,
  })
  const cost = await costOf(async () =>
    assert.equal(await outcomeOf(content, 'a.xlsx'), 'office: ## One\n\n| 1 |\n| --- |'),
  )
  assert.ok(cost < 1_500, `${cost} ms`)
})

test('a million formats of cells take little memory', { timeout: 60_000 }, async () => {
  const content = xlsxWith([{ name: 'One', data: '<row><c><v>1</v></c></row>' }], {
    'xl/styles.xml': `<styleSheet><cellXfs>${'<xf/>'.repeat(1_000_000)}</cellXfs></styleSheet>`,
  })
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads')
    import(workerData.module).then(({ readFile }) => readFile(workerData.file)).then((found) => parentPort.postMessage(found.text))`,
    {
      eval: true,
      workerData: {
        module: import.meta.resolve('#files/read-file.ts'),
        file: { content: new Uint8Array(content), filename: 'a.xlsx', contentType: '' },
      },
      resourceLimits: { maxOldGenerationSizeMb: 64 },
    },
  )
  const [text] = await once(worker, 'message')
  assert.equal(text, '## One\n\n| 1 |\n| --- |')
})

test('fields of a Word document that never end are counted', () => {
  const fields = new WordFields()
  const begin = (count: number) => {
    for (let n = 0; n < count; n++) fields.mark('begin')
  }
  fields.openText()
  begin(60_000)
  fields.closeText()
  begin(40_000)
  assert.throws(() => begin(1), { method: 'too_large' })
  fields.mark('end')
  begin(1)
})

test('macros are not read, and their file is', async () => {
  const content = docxWith(wordParagraph('Text'), { 'word/vbaProject.bin': 'Sub AutoOpen()' })
  assert.equal(await outcomeOf(content, 'a.docm'), 'office: Text')
})

test('a PDF whose fonts have no map to letters says so', async () => {
  assert.equal(
    await outcomeOf(pdfWith(['Nobody knows these letters'], { hasMap: false }), 'a.pdf'),
    'failed! Its fonts do not say which letters they show.',
  )
})

test('a script in a PDF does not run, and a page that refers to itself ends', async () => {
  const stream = deflateSync(Buffer.from('BT /F1 12 Tf 72 700 Td (Text) Tj ET')).toString('latin1')
  const pdf = pdfOf([
    '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (this.x = 1; while (true) {}) >> >>',
    '<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 2 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>',
    `<< /Filter /FlateDecode /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 6 0 R >> >> /Length 5 >>\nstream\n/X Do\nendstream',
  ])
  assert.match(await outcomeOf(pdf, 'a.pdf'), /^(?:pdf: Text|failed!)/)
})
