/** A text that was made of another one. */
export type Reading = {
  readonly text: string
  /** Where the characters `start` to `end` of `text` stand in the other text, with what was removed between them. */
  sourceOf(start: number, end: number): { readonly start: number; readonly end: number }
}

/** Writes a text from pieces of another one, from its start to its end, and remembers where they stood. */
export class ReadingWriter {
  readonly #source: string
  readonly #pieces: string[] = []
  /** For each piece: its start in the text, its start in the source, and its end there. */
  readonly #places: number[] = []
  #length = 0

  constructor(source: string) {
    this.#source = source
  }

  /** The source from `start` to `end` as it stands. */
  keep(start: number, end: number): void {
    if (start < end) this.#add(this.#source.slice(start, end), start, end)
  }

  /** `text` instead of the source from `start` to `end`. */
  replace(start: number, end: number, text: string): void {
    if (text !== '') this.#add(text, start, end)
  }

  finish(): Reading {
    const places = this.#places
    const pieceAt = (index: number): number => {
      let [low, high] = [0, places.length / 3 - 1]
      while (low < high) {
        const middle = Math.ceil((low + high) / 2)
        if ((places[3 * middle] as number) <= index) low = middle
        else high = middle - 1
      }
      return low
    }
    const offsetOf = (index: number): readonly [number, number] => {
      const piece = pieceAt(index)
      const start = places[3 * piece + 1] as number
      const end = places[3 * piece + 2] as number
      const next = places[3 * piece + 3] ?? this.#length
      const begin = places[3 * piece] as number
      // A replaced piece stands where all of its source stood.
      if (next - begin !== end - start) return [start, end]
      return [start + index - begin, start + index - begin + 1]
    }
    return {
      text: this.#pieces.join(''),
      sourceOf: (start, end) => ({ start: offsetOf(start)[0], end: offsetOf(end - 1)[1] }),
    }
  }

  #add(text: string, start: number, end: number): void {
    this.#pieces.push(text)
    this.#places.push(this.#length, start, end)
    this.#length += text.length
  }
}

/** The text itself. */
export function plainReading(text: string): Reading {
  return { text, sourceOf: (start, end) => ({ start, end }) }
}

/** `reading`, read once more by `read`. */
export function readAgain(reading: Reading, read: (text: string) => Reading): Reading {
  const again = read(reading.text)
  return {
    text: again.text,
    sourceOf(start, end) {
      const inner = again.sourceOf(start, end)
      return reading.sourceOf(inner.start, inner.end)
    },
  }
}
