// Extracts the text of a workbook (SpreadsheetML, ECMA-376 part 1 §18): each visible sheet as a
// table, with the values computed by the program that wrote it.

import { format as formatNumber, getFormatFromId } from 'numfmt'
import {
  EnoughText,
  FileFault,
  leftOut,
  TABLE_COLUMNS_MAX,
  type TextWriter,
  tableText,
} from './file-text.ts'
import { relationshipsOf } from './package-parts.ts'
import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import type { ZipFile } from './zip-file.ts'

export function readXlsx(zip: ZipFile, main: string, writer: TextWriter): void {
  const related = relationshipsOf(zip, main)
  const partOf = (type: string) =>
    [...related.values()].find((one) => one.type === type && zip.has(one.target))?.target
  const { sheets, is1904 } = readWorkbook(zip, main)
  const strings = readStrings(zip, partOf('sharedStrings') ?? 'xl/sharedStrings.xml')
  const formats = readFormats(zip, partOf('styles'))
  let hidden = 0
  let formulas = 0
  for (const [index, { name, id, isHidden }] of sheets.entries()) {
    const part = related.get(id)?.target ?? `xl/worksheets/sheet${index + 1}.xml`
    if (!zip.has(part)) continue
    if (isHidden) {
      hidden += 1
      continue
    }
    const sheet = new Sheet({ strings, formats, is1904 })
    const isWhole = readSheet(zip, part, sheet)
    const table = tableText(sheet.rows)
    if (table !== '') {
      writer.add(`## ${name.trim()}`)
      writer.add(table)
    }
    formulas += sheet.formulasWithoutResult
    if (sheet.hasFurtherColumns) writer.leaveOut()
    if (!isWhole) writer.end()
  }
  writer.add(leftOut({ sheet: hidden }, { 'formula without a stored result': formulas }))
}

/** Returns false if the sheet has more text than is kept. */
function readSheet(zip: ZipFile, part: string, sheet: Sheet): boolean {
  try {
    readXml(zip, part, sheet)
    return true
  } catch (error) {
    if (error instanceof EnoughText) return false
    throw error
  }
}

type SheetEntry = { name: string; id: string; isHidden: boolean }

function readWorkbook(zip: ZipFile, main: string): { sheets: SheetEntry[]; is1904: boolean } {
  const sheets: SheetEntry[] = []
  let is1904 = false
  readXml(zip, main, {
    open({ name, attribute, relation }) {
      if (name === 'workbookPr') is1904 = ['1', 'true'].includes(attribute('date1904') ?? '')
      if (name !== 'sheet') return
      const isHidden = (attribute('state') ?? 'visible') !== 'visible'
      sheets.push({ name: attribute('name') ?? '', id: relation() ?? '', isHidden })
    },
  })
  return { sheets, is1904 }
}

/** Bounds on the number of shared strings in a workbook, and on their UTF-16 units. */
const STRINGS_MAX = 500_000
const STRINGS_LENGTH_MAX = 8_000_000

function readStrings(zip: ZipFile, part: string): string[] {
  const strings: string[] = []
  if (!zip.has(part)) return strings
  let text = ''
  let length = 0
  let isText = false
  let phonetic = 0
  readXml(zip, part, {
    open({ name }) {
      if (name === 'si') text = ''
      else if (name === 'rPh') phonetic += 1
      else if (name === 't') isText = phonetic === 0
    },
    close(name) {
      if (name === 't') isText = false
      else if (name === 'rPh') phonetic -= 1
      else if (name === 'si') {
        length += text.length
        if (strings.length >= STRINGS_MAX || length > STRINGS_LENGTH_MAX) {
          throw new FileFault('too_large', 'Its cells have too much text.')
        }
        strings.push(text)
      }
    },
    text(piece) {
      if (isText) text += piece
    },
  })
  return strings
}

type DateFormat = 'date' | 'time' | 'both' | 'elapsed' | null
type ValueKind = 'positive' | 'negative' | 'zero' | 'text'
/** How a number is displayed, as a date or by a format code, and which values are hidden. */
type Format = {
  readonly date: DateFormat
  readonly code: string | null
  readonly hidden: ReadonlySet<ValueKind>
}

const NO_KINDS: ReadonlySet<ValueKind> = new Set()
const showing = (date: DateFormat, code: string | null = null): Format => ({
  date,
  code,
  hidden: NO_KINDS,
})
/** One object is shared, because a file may have millions of cell formats. */
const GENERAL = showing(null)
const DATE = showing('date')
const TIME = showing('time')
const BOTH = showing('both')
const ELAPSED = showing('elapsed')

function readFormats(zip: ZipFile, part: string | undefined): Format[] {
  const formats: Format[] = []
  if (part === undefined) return formats
  const own = new Map<string, Format>()
  let isCells = false
  readXml(zip, part, {
    open({ name, attribute }) {
      if (name === 'numFmt') {
        const code = attribute('formatCode') ?? ''
        own.set(attribute('numFmtId') ?? '', {
          date: dateFormatOf(code),
          code: numberCode(code),
          hidden: kindsHiddenBy(code),
        })
      } else if (name === 'cellXfs') isCells = true
      else if (name === 'xf' && isCells) {
        const id = attribute('numFmtId') ?? '0'
        formats.push(own.get(id) ?? builtInFormat(Number(id)))
      }
    },
    close(name) {
      if (name === 'cellXfs') isCells = false
    },
  })
  return formats
}

/** Kinds of values whose section is empty, such as all kinds in `;;;` (§18.8.31). */
function kindsHiddenBy(code: string): ReadonlySet<ValueKind> {
  // Conditional sections apply to other values.
  if (/\[[<>=]/.test(code)) return NO_KINDS
  const sections = code
    // An unclosed bracket extends to the end, so each bracket is searched for once.
    .replace(
      /"([^"]*)"|\\(.)|[_*].|\[[^\]]*\]| |(\[.*)/gs,
      (_, quoted = '', letter = '', rest = '') =>
        `${quoted}${letter}${rest}`.trim() === '' ? '' : 'x',
    )
    .split(';')
  // A single section applies to all numbers; an empty one is the general format.
  if (sections.length === 1) return NO_KINDS
  // With fewer than four sections, the last one is for text if it has an `@`.
  if (sections.length < 4 && sections.at(-1)?.includes('@')) sections.pop()
  const [positive, negative = positive, zero = positive, text] = sections
  const shown = Object.entries({ positive, negative, zero, text }) as [ValueKind, string?][]
  return new Set(shown.filter(([, section]) => section === '').map(([kind]) => kind))
}

/** Excel's maximum length; no program writes longer codes. */
const CODE_LENGTH_MAX = 255

/**
 * The code without currency locales, which would change the separators in a number. Null if the
 * code shows numbers unchanged.
 */
function numberCode(code: string): string | null {
  if (code.length > CODE_LENGTH_MAX || /^(?:general|@|)$/i.test(code.trim())) return null
  return code.replace(/\[\$([^\]"-]*)(?:-[^\]]*)?\]/g, '"$1"')
}

/** Built-in formats for numbers that are not dates, such as percentages and thousands. */
const BUILT_IN_NUMBERS = new Map(
  [1, 2, 3, 4, 9, 10, 11, 12, 13, 37, 38, 39, 40, 41, 42, 43, 44, 48].map((id) => [
    id,
    showing(null, numberCode(String(getFormatFromId(id) ?? ''))),
  ]),
)

/** Built-in formats (§18.8.30). */
function builtInFormat(id: number): Format {
  if (id === 22) return BOTH
  if (id === 46) return ELAPSED
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36) return DATE
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || (id >= 45 && id <= 47)) return TIME
  return BUILT_IN_NUMBERS.get(id) ?? GENERAL
}

function dateFormatOf(code: string): DateFormat {
  const bare = code.replace(/"[^"]*"|\\.|_.|\[(?!h+\]|m+\]|s+\])[^\]]*\]?/gi, '')
  const hasDate = /[yd]/i.test(bare)
  const hasTime = /[hs]/i.test(bare)
  if (hasDate) return hasTime ? 'both' : 'date'
  if (/\[/.test(bare)) return 'elapsed'
  return hasTime ? 'time' : null
}

type Cell = { column: number; type: string; style: number; text: string; hasFormula: boolean }

/** The file format allows at most this many columns. */
const COLUMNS_MAX = 16_384
/** Maximum UTF-16 code units read from one sheet; higher than FILE_TEXT_LENGTH_MAX. */
const SHEET_LENGTH_MAX = 1_200_000

class Sheet implements XmlReader {
  readonly rows: string[][] = []
  hasFurtherColumns = false
  /** Number of visible cells whose formula has no result. */
  formulasWithoutResult = 0
  readonly #strings: readonly string[]
  readonly #formats: readonly Format[]
  readonly #is1904: boolean
  readonly #hiddenColumns = new Set<number>()
  #length = 0
  #row: string[] | null = null
  #cell: Cell | null = null
  #column = 0
  #isValue = false

  constructor(of: {
    strings: readonly string[]
    formats: readonly Format[]
    is1904: boolean
  }) {
    this.#strings = of.strings
    this.#formats = of.formats
    this.#is1904 = of.is1904
  }

  open(element: XmlElement): void {
    const { name, attribute } = element
    if (name === 'col') this.#hideColumns(element)
    else if (name === 'row') {
      this.#column = 0
      this.#row = isTrue(attribute('hidden')) || isZero(attribute('ht')) ? null : []
    } else if (name === 'c') {
      this.#column = columnOf(attribute('r')) ?? this.#column + 1
      const type = attribute('t') ?? 'n'
      const style = Number(attribute('s') ?? '0')
      this.#cell = { column: this.#column, type, style, text: '', hasFormula: false }
    } else if (name === 'f' && this.#cell !== null) this.#cell.hasFormula = true
    else if (name === 'v' || name === 't') this.#isValue = this.#cell !== null
    else if (name === 'rPh') this.#isValue = false
  }

  close(name: string): void {
    if (name === 'v' || name === 't') this.#isValue = false
    else if (name === 'c') this.#closeCell()
    else if (name === 'row' && this.#row !== null) {
      this.rows.push(this.#row)
      this.#row = null
      if (this.#length >= SHEET_LENGTH_MAX) throw new EnoughText()
    }
  }

  text(text: string): void {
    if (this.#isValue && this.#cell !== null) this.#cell.text += text
  }

  #hideColumns({ attribute }: XmlElement): void {
    if (!isTrue(attribute('hidden')) && !isZero(attribute('width'))) return
    const last = Math.min(Number(attribute('max') ?? '0'), TABLE_COLUMNS_MAX)
    for (let column = Number(attribute('min') ?? '1'); column <= last; column++) {
      this.#hiddenColumns.add(column)
    }
  }

  #closeCell(): void {
    const cell = this.#cell
    this.#cell = null
    const row = this.#row
    if (cell === null || row === null) return
    if (cell.column > TABLE_COLUMNS_MAX) {
      this.hasFurtherColumns ||= cell.text !== ''
      return
    }
    if (this.#hiddenColumns.has(cell.column) || this.#length >= SHEET_LENGTH_MAX) return
    const isEmpty = cell.text === '' && cell.type !== 'str'
    if (cell.hasFormula && isEmpty) this.formulasWithoutResult += 1
    const text = this.#valueOf(cell)
    if (text === '') return
    while (row.length < cell.column - 1) row.push('')
    row[cell.column - 1] = text
    this.#length += text.length
  }

  #valueOf({ type, style, text }: Cell): string {
    if (text === '') return ''
    const { date = null, code = null, hidden } = this.#formats[style] ?? {}
    const value = Number(text)
    const isNumber = type === 'n' && Number.isFinite(value)
    if (hidden?.has(isNumber ? kindOf(value) : 'text') && type !== 'e') return ''
    if (type === 'b') return text === '1' ? 'TRUE' : 'FALSE'
    if (type === 's') return this.#strings[value] ?? ''
    if (type !== 'n') return text
    if (date !== null && isNumber) return dateText(value, date, this.#is1904)
    return (
      (isNumber && code !== null ? formattedNumber(value, code) : null) ?? numberText(text, value)
    )
  }
}

function kindOf(value: number): ValueKind {
  return value > 0 ? 'positive' : value < 0 ? 'negative' : 'zero'
}

function isZero(size: string | null): boolean {
  return size !== null && size.trim() !== '' && Number(size) === 0
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true'
}

/** The column number, 1 for A; null for a cell without a reference. */
function columnOf(reference: string | null): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0]
  if (letters === undefined) return null
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0)
  return Math.min(column, COLUMNS_MAX)
}

/** Programs write 17 digits, of which 15 are significant. */
function numberText(text: string, value: number): string {
  if (!Number.isFinite(value)) return text
  return text.length > 15 ? String(Number(value.toPrecision(15))) : text
}

/** The number in its format; null if the format is invalid or replaces the number with text. */
function formattedNumber(value: number, code: string): string | null {
  const text = formatNumber(code, value, { throws: false })
  return /\d/.test(text) ? text.replace(/\s+/g, ' ').trim() : null
}

const DAY_MS = 86_400_000
/** The day 1899-12-30, because the format treats 1900 as a leap year. */
const EPOCH_1900_MS = Date.UTC(1899, 11, 30)
const EPOCH_1904_MS = Date.UTC(1904, 0, 1)
/** 9999-12-31 in the format. */
const SERIAL_MAX = 2_958_466

function dateText(serial: number, format: NonNullable<DateFormat>, is1904: boolean): string {
  if (serial < 0 || serial > SERIAL_MAX) return String(serial)
  const seconds = Math.round((serial * DAY_MS) / 1_000)
  if (format === 'elapsed') return elapsedText(seconds)
  const iso = new Date((is1904 ? EPOCH_1904_MS : EPOCH_1900_MS) + seconds * 1_000).toISOString()
  const [date = '', time = ''] = iso.slice(0, 19).split('T')
  if (format === 'date') return date
  return format === 'time' ? time : `${date} ${time}`
}

/** A duration, which may exceed 24 hours. */
function elapsedText(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  return [hours, minutes, seconds % 60].map((part) => String(part).padStart(2, '0')).join(':')
}
