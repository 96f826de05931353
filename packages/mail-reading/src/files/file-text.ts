// The result of extracting text from a file, and its bounds.

/** `text` is any kind of text, including attached messages. `unsupported` files are not read. */
export type FileMethod =
  | 'pdf'
  | 'office'
  | 'csv'
  | 'text'
  | 'html'
  | 'ocr'
  | 'unsupported'
  | 'failed'
  | 'too_large'

export type FileText = {
  readonly method: FileMethod
  /** The text, with tables as Markdown; '' if nothing could be read. */
  readonly text: string
  /** Pages of a PDF or slides of a presentation; null for other files. */
  readonly pages: number | null
  readonly isTruncated: boolean
  /** A sentence that explains why nothing could be read; null otherwise. */
  readonly why: string | null
  /** Whether a retry may succeed, because the machine may have been busy. */
  readonly mayPass?: true
}

/** Maximum octets of a file; larger files are not read. */
export const FILE_BYTES_MAX = 10 * 1024 * 1024
/** Maximum octets of all parts of a file together, when inflated. */
export const FILE_INFLATED_BYTES_MAX = 50 * 1024 * 1024
export const FILE_DEPTH_MAX = 64
/** Maximum UTF-16 units of the text of one file. */
export const FILE_TEXT_LENGTH_MAX = 1_000_000

/** A file that cannot be read. The error message is a sentence that explains why. */
export class FileFault extends Error {
  readonly method: 'unsupported' | 'failed' | 'too_large'

  constructor(method: FileFault['method'], why: string) {
    super(why)
    this.method = method
  }
}

export function unreadText(method: FileFault['method'], why: string): FileText {
  return { method, text: '', pages: null, isTruncated: false, why }
}

export const UNKNOWN_KIND = 'It is of a kind that is not read.'

export function tooLarge(): FileText {
  return unreadText('too_large', `It has more than ${FILE_BYTES_MAX / 1024 / 1024} MiB.`)
}

/** Thrown to stop reading once there is enough text, for example by a full TextWriter. */
export class EnoughText extends Error {}

/** Collects blocks of text, separated by empty lines, up to FILE_TEXT_LENGTH_MAX. */
export class TextWriter {
  readonly #blocks: string[] = []
  #length = 0
  #isCut = false

  get isCut(): boolean {
    return this.#isCut
  }

  /** Throws EnoughText when full. If `isApart` is false, the block continues the previous one. */
  add(block: string, { isApart = true }: { isApart?: boolean } = {}): void {
    if (block === '') return
    const between = this.#blocks.length === 0 ? '' : isApart ? '\n\n' : '\n'
    const room = FILE_TEXT_LENGTH_MAX - this.#length - between.length
    const kept = block.slice(0, Math.max(0, room))
    if (kept !== '') {
      this.#blocks.push(between, kept)
      this.#length += between.length + kept.length
    }
    if (kept.length < block.length) this.end()
  }

  /** Adds a table in the format of `tableText`. Dropped columns are reported as omitted text. */
  addTable(rows: readonly (readonly string[])[]): void {
    const isLeftOut = (cell: string) => cell.trim() !== ''
    if (rows.some((row) => row.slice(TABLE_COLUMNS_MAX).some(isLeftOut))) this.leaveOut()
    this.add(tableText(rows))
  }

  /** Records that some text of the file is omitted. */
  leaveOut(): void {
    this.#isCut = true
  }

  /** Omits the rest of the file, even if there is room. */
  end(): never {
    this.leaveOut()
    throw new EnoughText()
  }

  /** Returns a function that removes everything added since this call. */
  mark(): () => void {
    const [blocks, length, isCut] = [this.#blocks.length, this.#length, this.#isCut]
    return () => {
      this.#blocks.length = blocks
      this.#length = length
      this.#isCut = isCut
    }
  }

  text(): string {
    return this.#blocks.join('').toWellFormed()
  }
}

export async function untilFull(read: () => void | Promise<void>): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!(error instanceof EnoughText)) throw error
  }
}

/** A line that reports the number of hidden items by kind; '' if there are none. */
export function leftOut(
  hidden: Readonly<Record<string, number>>,
  others: Readonly<Record<string, number>> = {},
): string {
  const counted = (counts: typeof hidden, kind: string) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${count} ${kind}${count === 1 ? name : name.replace(/^\w+/, '$&s')}`)
  const named = [...counted(hidden, 'hidden '), ...counted(others, '')]
  return named.length === 0 ? '' : `[left out: ${named.join(', ')}]`
}

/** Maximum columns of a table; further ones are dropped. */
export const TABLE_COLUMNS_MAX = 256

/**
 * A GFM table with the first row as header; '' if it has no text. Rows without text are dropped.
 */
export function tableText(rows: readonly (readonly string[])[]): string {
  const cells = rows
    .map((row) => row.slice(0, TABLE_COLUMNS_MAX).map(cellText))
    .filter((row) => row.some((cell) => cell !== ''))
  const first = cells.reduce((min, row) => Math.min(min, firstFilled(row)), TABLE_COLUMNS_MAX)
  const end = cells.reduce((max, row) => Math.max(max, lastFilled(row) + 1), 0)
  const [head, ...rest] = cells
  if (head === undefined || end <= first) return ''
  const line = (row: readonly string[]) => {
    const shown = Array.from({ length: end - first }, (_, index) => row[first + index] ?? '')
    return `| ${shown.join(' | ')} |`
  }
  const rule = `|${' --- |'.repeat(end - first)}`
  return [line(head), rule, ...rest.map(line)].join('\n')
}

function firstFilled(row: readonly string[]): number {
  const found = row.findIndex((cell) => cell !== '')
  return found === -1 ? TABLE_COLUMNS_MAX : found
}

function lastFilled(row: readonly string[]): number {
  return row.findLastIndex((cell) => cell !== '')
}

function cellText(text: string): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
}
