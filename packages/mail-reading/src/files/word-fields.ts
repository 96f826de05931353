// Fields of a Word document (ECMA-376 part 1 §17.16.18): a begin character, the codes, a separator,
// the result, and an end character. The codes may contain text but are not shown.

import { FileFault } from './file-text.ts'

/** Maximum per part; documents nest a few fields. */
const UNCLOSED_MAX = 100_000

export class WordFields {
  /** Numbers of the unclosed fields. If there are any, the part must be read again without them. */
  readonly unclosed = new Set<number>()
  readonly #ignored: ReadonlySet<number>
  #begun = 0
  readonly #open: { number: number; isCode: boolean }[] = []
  /** Number of open fields whose codes are being read. */
  #codes = 0
  /** Number of open fields at the start of each open text. */
  readonly #texts: number[] = []

  /** `ignored` lists unclosed fields, which are treated as absent. */
  constructor(ignored: ReadonlySet<number> = new Set()) {
    this.#ignored = ignored
  }

  /** Whether the current text belongs to the codes of a field. */
  get isCode(): boolean {
    return this.#codes > 0
  }

  /** Throws FileFault beyond UNCLOSED_MAX. */
  mark(type: string | null): void {
    if (type === 'begin') {
      this.#begun += 1
      if (this.#ignored.has(this.#begun)) return
      if (this.#open.length + this.unclosed.size >= UNCLOSED_MAX) {
        throw new FileFault('too_large', 'It has too many fields without an end.')
      }
      this.#open.push({ number: this.#begun, isCode: true })
      this.#codes += 1
      return
    }
    const field = this.#open.at(-1)
    if (field === undefined || this.#open.length <= (this.#texts.at(-1) ?? 0)) return
    if (type === 'end') this.#open.pop()
    if ((type === 'end' || type === 'separate') && field.isCode) {
      field.isCode = false
      this.#codes -= 1
    }
  }

  /** Starts a separate text, such as a note. Fields do not extend beyond it. */
  openText(): void {
    this.#texts.push(this.#open.length)
  }

  closeText(): void {
    this.#leave(this.#texts.pop() ?? 0)
  }

  end(): void {
    this.#leave(0)
  }

  #leave(count: number): void {
    for (const { number } of this.#open.splice(count)) this.unclosed.add(number)
  }
}
