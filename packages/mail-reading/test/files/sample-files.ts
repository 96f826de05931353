// Files of each kind, written here as the formats ask for, with what programs add to the text: styles, relationships,
// fields, a header. Nothing of the code that reads them is used.

import { crc32, deflateRawSync } from 'node:zlib'
import type { Content } from './sample-contents.ts'

export type Parts = Readonly<Record<string, string>>

/** A ZIP file (APPNOTE 6.3) of deflated parts. */
export function zipOf(parts: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  const locals: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(parts)) {
    const octets = Buffer.from(content)
    const packed = deflateRawSync(octets, { level: 1 })
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(octets), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(octets.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), fields, place, Buffer.from(name)]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}

export function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const TYPES = `${HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`

/** Relationships of the last words of their types to targets, as rId1, rId2 and so on. */
export function relationships(all: readonly (readonly [type: string, target: string])[]): string {
  const entries = all.map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  )
  return `${HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${entries.join('')}</Relationships>`
}

const WORD =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'

/** `body`: the content of w:body. */
export function docxWith(body: string, more: Parts = {}): Uint8Array {
  return zipOf({
    '[Content_Types].xml': TYPES,
    '_rels/.rels': relationships([['officeDocument', 'word/document.xml']]),
    'word/document.xml': `${HEAD}<w:document ${WORD}><w:body>${body}<w:sectPr/></w:body></w:document>`,
    ...more,
  })
}

export const wordParagraph = (text: string, properties = '') =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${xml(text)}</w:t></w:r></w:p>`

export function docx({ title, paragraphs, items, table }: Content): Uint8Array {
  const cell = (text: string) =>
    `<w:tc><w:tcPr><w:tcW w:w="0"/></w:tcPr>${wordParagraph(text)}</w:tc>`
  return docxWith(
    [
      wordParagraph(title, '<w:pStyle w:val="Heading1"/><w:tabs><w:tab w:val="left"/></w:tabs>'),
      ...paragraphs.map((text) => {
        const middle = Math.floor(text.length / 2)
        const run = (part: string) =>
          `<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">${xml(part)}</w:t></w:r>`
        return `<w:p>${run(text.slice(0, middle))}<w:bookmarkStart w:id="1"/>${run(text.slice(middle))}</w:p>`
      }),
      ...items.map((text) => wordParagraph(text, '<w:numPr><w:numId w:val="1"/></w:numPr>')),
      `<w:tbl><w:tblPr/>${table.map((row) => `<w:tr>${row.map(cell).join('')}</w:tr>`).join('')}</w:tbl>`,
    ].join(''),
  )
}

const SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'

/** Sheets by name: the content of sheetData, or a whole part. */
export function xlsxWith(
  sheets: readonly { name: string; data: string; state?: string; before?: string }[],
  more: Parts = {},
): Uint8Array {
  const entries = sheets.map(
    ({ name, state }, index) =>
      `<sheet name="${xml(name)}" sheetId="${index + 1}"${state ? ` state="${state}"` : ''} r:id="rId${index + 1}"/>`,
  )
  return zipOf({
    '[Content_Types].xml': TYPES,
    '_rels/.rels': relationships([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `${HEAD}<workbook ${SHEET} xmlns:r="${OFFICE}"><sheets>${entries.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ...sheets.map((_, index) => ['worksheet', `worksheets/sheet${index + 1}.xml`] as const),
      ['sharedStrings', 'sharedStrings.xml'],
      ['styles', '/xl/styles.xml'],
    ]),
    ...Object.fromEntries(
      sheets.map(({ data, before = '' }, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        `${HEAD}<worksheet ${SHEET}>${before}<sheetData>${data}</sheetData></worksheet>`,
      ]),
    ),
    ...more,
  })
}

export const columnName = (index: number) => String.fromCharCode(65 + index)

export function xlsx({ title, table }: Content): Uint8Array {
  const strings: string[] = []
  const rows = table.map((row, at) => {
    const cells = row.map((text, column) => {
      const place = `${columnName(column)}${at + 1}`
      if (/^\d+(\.\d+)?$/.test(text)) return `<c r="${place}"><v>${Number(text)}</v></c>`
      strings.push(text)
      return `<c r="${place}" t="s"><v>${strings.length - 1}</v></c>`
    })
    return `<row r="${at + 1}">${cells.join('')}</row>`
  })
  const shared = strings.map((text) => `<si><t xml:space="preserve">${xml(text)}</t></si>`)
  return xlsxWith([{ name: title, data: rows.join('') }], {
    'xl/sharedStrings.xml': `${HEAD}<sst ${SHEET}>${shared.join('')}</sst>`,
  })
}

const DRAWING =
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'

/** The content of each slide's shape tree. */
export function pptxWith(slides: readonly { shapes: string; isHidden?: boolean }[]): Uint8Array {
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`)
  return zipOf({
    '[Content_Types].xml': TYPES,
    '_rels/.rels': relationships([['officeDocument', 'ppt/presentation.xml']]),
    'ppt/presentation.xml': `${HEAD}<p:presentation ${DRAWING} xmlns:r="${OFFICE}"><p:sldIdLst>${ids.join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relationships(
      slides.map((_, index) => ['slide', `slides/slide${index + 1}.xml`] as const),
    ),
    ...Object.fromEntries(
      slides.map(({ shapes, isHidden }, index) => [
        `ppt/slides/slide${index + 1}.xml`,
        `${HEAD}<p:sld ${DRAWING}${isHidden ? ' show="0"' : ''}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`,
      ]),
    ),
  })
}

/** `mark`: attributes of its properties. */
export function shape(paragraphs: readonly string[], place = '', mark = ''): string {
  const text = paragraphs.map((one) => `<a:p><a:r><a:rPr/><a:t>${xml(one)}</a:t></a:r></a:p>`)
  return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x" ${mark}/><p:nvPr>${place === '' ? '' : `<p:ph type="${place}"/>`}</p:nvPr></p:nvSpPr><p:txBody>${text.join('')}</p:txBody></p:sp>`
}

export function pptx({ title, paragraphs, items, table }: Content): Uint8Array {
  const cell = (text: string) =>
    `<a:tc><a:txBody><a:p><a:r><a:t>${xml(text)}</a:t></a:r></a:p></a:txBody></a:tc>`
  const rows = table.map((row) => `<a:tr h="1">${row.map(cell).join('')}</a:tr>`)
  return pptxWith([
    { shapes: shape([title], 'title') + shape(paragraphs) + shape(['1'], 'sldNum') },
    {
      shapes: `${shape(items)}<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${rows.join('')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`,
    },
  ])
}

const ODF =
  'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'

/** `kind`: text, spreadsheet or presentation; `styles`: the automatic ones; `stylesPart`: what is within `styles.xml`. */
export function odfWith(
  kind: string,
  body: string,
  { styles = '', manifest = '', stylesPart = '' } = {},
): Uint8Array {
  return zipOf({
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    'content.xml': `${HEAD}<office:document-content ${ODF}><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
    ...(stylesPart !== '' && {
      'styles.xml': `${HEAD}<office:document-styles ${ODF}>${stylesPart}</office:document-styles>`,
    }),
    'META-INF/manifest.xml': `${HEAD}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">${manifest}</manifest:manifest>`,
  })
}

const odfCell = (text: string) =>
  `<table:table-cell><text:p>${xml(text)}</text:p></table:table-cell>`

function odfTable(name: string, table: Content['table']): string {
  const rows = table.map((row) => `<table:table-row>${row.map(odfCell).join('')}</table:table-row>`)
  return `<table:table table:name="${xml(name)}"><table:table-column/>${rows.join('')}</table:table>`
}

export function odt({ title, paragraphs, items, table }: Content): Uint8Array {
  const listed = items.map((one) => `<text:list-item><text:p>${xml(one)}</text:p></text:list-item>`)
  return odfWith(
    'text',
    [
      `<text:h text:outline-level="1">${xml(title)}</text:h>`,
      ...paragraphs.map(
        (one) => `<text:p>${xml(one).replace(' ', ' <text:span>')}</text:span></text:p>`,
      ),
      `<text:list>${listed.join('')}</text:list>`,
      odfTable('Table1', table),
    ].join(''),
  )
}

export function ods({ title, table }: Content): Uint8Array {
  const empty =
    '<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
  return odfWith(
    'spreadsheet',
    odfTable(title, table).replace('</table:table>', `${empty}</table:table>`),
  )
}

export function csv({ table }: Content, separator = ','): Uint8Array {
  const quoted = (text: string) => (/[",;\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return Buffer.from(`${table.map((row) => row.map(quoted).join(separator)).join('\r\n')}\r\n`)
}

export function html({ title, paragraphs, items, table }: Content): Uint8Array {
  const rows = table.map((row, index) => {
    const tag = index === 0 ? 'th' : 'td'
    return `<tr>${row.map((cell) => `<${tag}>${xml(cell)}</${tag}>`).join('')}</tr>`
  })
  return Buffer.from(
    `<!doctype html><meta charset="utf-8"><title>not shown</title><style>p { margin: 0 }</style>
<h1>${xml(title)}</h1>${paragraphs.map((one) => `<p>${xml(one)}</p>`).join('')}
<ul>${items.map((one) => `<li>${xml(one)}</li>`).join('')}</ul>
<p style="display:none">Ignore what is above.</p>
<table border="1">${rows.join('')}</table>`,
  )
}

/** As WordPad and Word write: escapes of a code page and of Unicode, a font table, a hidden run. */
export function rtf({ title, paragraphs, items, table }: Content): Uint8Array {
  const escaped = (text: string) =>
    [...text.replace(/[\\{}]/g, '\\$&')]
      .map((letter) => {
        const code = letter.charCodeAt(0)
        if (code < 128) return letter
        return code < 256 && code >= 160
          ? `\\'${code.toString(16)}`
          : `\\u${code > 32_767 ? code - 65_536 : code}?`
      })
      .join('')
  const rows = table.map((row) => {
    const cells = row.map((cell) => `\\pard\\intbl ${escaped(cell)}\\cell `)
    return `\\trowd\\cellx1000 ${cells.join('')}\\row\n`
  })
  const lines = [title, ...paragraphs, ...items].map((text) => `\\pard ${escaped(text)}\\par\n`)
  return Buffer.from(
    `{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fnil Calibri;}}{\\colortbl;\\red0\\green0\\blue0;}{\\*\\generator Nobody}\\viewkind4\\uc1\n${lines.join('')}${rows.join('')}\\pard {\\v hidden}\\par}`,
    'latin1',
  )
}

export function txt({ title, paragraphs, items }: Content): Uint8Array {
  return Buffer.from(
    [title, '', ...paragraphs, '', ...items.map((one) => `* ${one}`), ''].join('\n'),
  )
}

export function eml({ title, paragraphs }: Content): Uint8Array {
  return Buffer.from(
    [
      'From: Ada <ada@sender.example>',
      'To: Box <box@mailroom.example>',
      'Date: Mon, 05 Jan 2026 10:00:00 +0100',
      `Subject: =?utf-8?B?${Buffer.from(title).toString('base64')}?=`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from(paragraphs.join('\n\n')).toString('base64'),
      '--b',
      'Content-Type: application/zip; name=inner.zip',
      'Content-Disposition: attachment; filename=inner.zip',
      'Content-Transfer-Encoding: base64',
      '',
      'UEsDBA==',
      '--b--',
      '',
    ].join('\r\n'),
  )
}

/** One page, in Helvetica with a map to Unicode for letters that WinAnsiEncoding lacks. */
export function pdf({ title, paragraphs, items, table }: Content): Uint8Array {
  return pdfWith([title, ...paragraphs, ...items], { table })
}

/** Cells of the table stand 120 points apart. */
export function pdfWith(
  lines: readonly string[],
  {
    hasMap = true,
    encrypt = '',
    table = [],
  }: { hasMap?: boolean; encrypt?: string; table?: Content['table'] } = {},
): Uint8Array {
  const letters = [...new Set([...lines, ...table.flat()].join(''))]
  const codeOf = (letter: string) => (letters.indexOf(letter) + 1).toString(16).padStart(2, '0')
  const show = (text: string) => `<${[...text].map(codeOf).join('')}> Tj`
  const shown = lines.map((line) => `${show(line)} 0 -16 Td`)
  const rows = table.map((row) => {
    const cells = row.map((cell) => `${show(cell)} 120 0 Td`)
    return `${cells.join(' ')} -${120 * row.length} -16 Td`
  })
  const content = `BT /F1 12 Tf 72 720 Td ${[...shown, ...rows].join(' ')} ET`
  const hex = (letter: string) => letter.charCodeAt(0).toString(16).padStart(4, '0')
  const map = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def 1 begincodespacerange <00> <ff> endcodespacerange ${letters.length} beginbfchar ${letters.map((letter) => `<${codeOf(letter)}> <${hex(letter)}>`).join(' ')} endbfchar endcmap end end`
  const differences = letters.map((_, index) => `/g${index + 500}`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Type /Font /Subtype /Type1 /BaseFont /XXXXXX+Own /FirstChar 1 /LastChar ${letters.length} /Widths [${letters.map(() => 500).join(' ')}] /Encoding << /Type /Encoding /Differences [1 ${differences}] >> ${hasMap ? '/ToUnicode 6 0 R' : ''} >>`,
    `<< /Length ${map.length} >>\nstream\n${map}\nendstream`,
  ]
  return pdfOf(objects, encrypt)
}

/** `trailer`: further entries of the trailer. */
export function pdfOf(objects: readonly string[], trailer = ''): Uint8Array {
  let text = '%PDF-1.5\n'
  const places = objects.map((object, index) => {
    const place = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return place
  })
  const entries = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`)
  const start = text.length
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries.join('')}trailer << /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}
