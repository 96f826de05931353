// Fields of a Word document (ECMA-376 part 1 §17.16.18): a beginning, the codes, and after a mark the result, up to the
// end. The codes are not shown, and may hold text.

import { FileFault } from './file-text.ts'

/** Of one part; documents have a few within each other. */
const UNCLOSED_MAX = 100_000

export class WordFields {
  /** Beginnings without an end, by their number in the part. If there are any, the part must be read again without them. */
  readonly unclosed = new Set<number>()
  readonly #ignored: ReadonlySet<number>
  #begun = 0
  readonly #open: { number: number; isCode: boolean }[] = []
  /** How many of those that are open are at their codes. */
  #codes = 0
  /** How many fields were open at the beginning of each text that is open. */
  readonly #texts: number[] = []

  /** `ignored`: beginnings without an end, which are as if they did not exist. */
  constructor(ignored: ReadonlySet<number> = new Set()) {
    this.#ignored = ignored
  }

  /** Whether text is of the codes of any field. */
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

  /** Of a text that is apart from what is around it, such as a note: fields do not go beyond it. */
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
