// The text of a PDF (ISO 32000), line by line in the order of its content, by pdf.js. Nothing in the file runs, and
// nothing is loaded.

import { EnoughText, FileFault, type TextWriter } from './file-text.ts'
import { encrypted } from './zip-file.ts'

/** Pages that are read of one file. */
const PAGES_MAX = 2_000
/** Letters without a place in a font's map come as these, which nobody can read. */
const UNREADABLE = /[\p{Co}\p{Cc}\ufffd]/gu

/** Returns the number of pages. Takes seconds and much memory for hostile files. */
export async function readPdf(content: Uint8Array, writer: TextWriter): Promise<number> {
  // Loaded when there is a PDF: it takes 100 ms.
  const { getDocumentProxy } = await import('unpdf')
  const pdf = await getDocumentProxy(content, {
    useSystemFonts: false,
    disableFontFace: true,
    enableXfa: false,
    verbosity: 0,
  }).catch((error: unknown) => {
    const name = error instanceof Error ? error.name : ''
    throw name === 'PasswordException' ? encrypted() : damaged()
  })
  const { numPages } = pdf
  let failed = 0
  let unreadable = 0
  let letters = 0
  try {
    for (let number = 1; number <= Math.min(numPages, PAGES_MAX); number++) {
      let text: string
      try {
        const page = await pdf.getPage(number)
        text = await pageText(page)
        page.cleanup()
      } catch {
        failed += 1
        continue
      }
      const readable = text.replace(UNREADABLE, (letter) => (/\s/.test(letter) ? letter : ''))
      letters += text.length
      unreadable += text.length - readable.length
      writer.add(readable)
    }
  } catch (error) {
    if (!(error instanceof EnoughText)) throw error
  } finally {
    await pdf.loadingTask.destroy()
  }
  if (failed > 0 && failed === Math.min(numPages, PAGES_MAX)) throw damaged()
  if (unreadable > letters / 2) {
    throw new FileFault('failed', 'Its fonts do not say which letters they show.')
  }
  return numPages
}

function damaged(): FileFault {
  return new FileFault('failed', 'It is damaged or incomplete.')
}

type Page = {
  readonly view: readonly number[]
  getTextContent(options: { includeMarkedContent?: false }): Promise<{ items: readonly object[] }>
}

type Item = { str: string; hasEOL: boolean; transform: readonly number[]; width: number; height: number }

/** Below this, in points, a letter is a speck. */
const HEIGHT_MIN = 1
/** A gap between two texts of a line, in heights of a letter, between which a person sees a column. */
const COLUMN_GAP = 2
const WORD_GAP = 0.15

async function pageText(page: Page): Promise<string> {
  const { items } = await page.getTextContent({ includeMarkedContent: false })
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view
  const isOnPage = ({ transform, width }: Item) => {
    const [, , , , x = 0, y = 0] = transform
    return x < right && x + width >= left && y < top && y >= bottom - HEIGHT_MIN
  }
  const lines: string[] = []
  let line = ''
  let before: Item | null = null
  for (const item of items as readonly Item[]) {
    if (typeof item.str !== 'string') continue
    const isShown = item.str.trim() === '' || (isOnPage(item) && sizeOf(item) >= HEIGHT_MIN)
    if (isShown && item.str !== '') {
      if (before !== null && isNewLine(before, item)) {
        lines.push(line)
        line = ''
      }
      line += gapBefore(before, item, line) + item.str
      before = item
    }
    if (item.hasEOL) {
      lines.push(line)
      line = ''
      before = null
    }
  }
  lines.push(line)
  return joinLines(lines)
}

function sizeOf({ transform, height }: Item): number {
  const [a = 0, b = 0, c = 0, d = 0] = transform
  return Math.max(height, Math.hypot(c, d), Math.hypot(a, b))
}

function isNewLine(before: Item, item: Item): boolean {
  const [, , , , , y = 0] = item.transform
  const [, , , , , yBefore = 0] = before.transform
  return Math.abs(y - yBefore) > 0.6 * Math.max(sizeOf(before), sizeOf(item))
}

function gapBefore(before: Item | null, item: Item, line: string): string {
  if (before === null || line === '' || /\s$/.test(line) || /^\s/.test(item.str)) return ''
  const [, , , , x = 0] = item.transform
  const [, , , , xBefore = 0] = before.transform
  const gap = (x - (xBefore + before.width)) / Math.max(1, sizeOf(item))
  if (gap > COLUMN_GAP) return '  '
  return gap > WORD_GAP ? ' ' : ''
}

function joinLines(lines: readonly string[]): string {
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
