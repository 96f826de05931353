// A text as lines whose words and candidates are looked for when they are asked for. Lines of a
// subject, of a text and of laid-out HTML are alike here.

import { type Candidate, candidatesOf } from './code-candidates.ts'
import { isAboutElsewhere, isAboutVerifying, type Label, labelsOf } from './code-labels.ts'
import { foldLine } from './fold-line.ts'

/** Between the cells of a row. */
export const CELL_MARK = ' | '
/** A longer line, in characters, is taken for several: no sentence is as long. */
const LINE_LENGTH_MAX = 1_000

export class ReadLine {
  readonly text: string
  #folded: string | null = null
  #labels: Label[] | null = null
  #candidates: Candidate[] | null = null
  #isVerifying: boolean | null = null
  #isElsewhere: boolean | null = null

  constructor(text: string) {
    this.text = text
  }

  get isBlank(): boolean {
    return this.text === '' || this.text.trim() === ''
  }

  /** Of the same length as the text. */
  get folded(): string {
    this.#folded ??= foldLine(this.text)
    return this.#folded
  }

  get labels(): readonly Label[] {
    this.#labels ??= labelsOf(this.folded)
    return this.#labels
  }

  /** Whether it speaks of signing in, verifying and the like. */
  get isVerifying(): boolean {
    this.#isVerifying ??= isAboutVerifying(this.folded)
    return this.#isVerifying
  }

  /** Whether it speaks of meetings, bookings, coupons. */
  get isElsewhere(): boolean {
    this.#isElsewhere ??= isAboutElsewhere(this.folded)
    return this.#isElsewhere
  }

  get candidates(): readonly Candidate[] {
    this.#candidates ??= candidatesOf(this.text, this.folded)
    return this.#candidates
  }

  /** Whether the candidate is all that stands in the line, or in its cell, but for marks around it. */
  isAlone({ start, end }: Candidate): boolean {
    const cell = this.cellAt(start)
    const rest = this.text.slice(cell.start, start) + this.text.slice(end, cell.end)
    return !/[\p{L}\p{N}]/u.test(rest) && rest.trim().length <= MARKS_MAX
  }

  get cells(): string[] {
    return this.text.split(CELL_MARK)
  }

  /** The cell around a place; the whole line where it has no cells. */
  cellAt(place: number): { index: number; start: number; end: number } {
    let start = 0
    let index = 0
    for (;;) {
      const mark = this.text.indexOf(CELL_MARK, start)
      if (mark === -1 || place < mark) {
        return { index, start, end: mark === -1 ? this.text.length : mark }
      }
      start = mark + CELL_MARK.length
      index += 1
    }
  }
}

/** Quotation marks, brackets, stars around a value. */
const MARKS_MAX = 8

/** Lines of a text, however they end; very long ones in parts that end with a word. */
export function readLines(text: string): ReadLine[] {
  return text
    .split(/\r\n|\r|\n/)
    .flatMap((line) => (line.length > LINE_LENGTH_MAX ? partsOf(line) : [line]))
    .map((line) => new ReadLine(line))
}

function partsOf(line: string): string[] {
  const parts: string[] = []
  for (let start = 0; start < line.length; ) {
    const end = start + LINE_LENGTH_MAX
    const space = end >= line.length ? -1 : line.lastIndexOf(' ', end)
    const cut = space > start ? space + 1 : end
    parts.push(line.slice(start, cut))
    start = cut
  }
  return parts
}
