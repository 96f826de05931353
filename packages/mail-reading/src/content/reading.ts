/** A text derived from a source, with a mapping back to it. */
export type Reading = {
  readonly text: string
  /** The source range of the characters `start` to `end`, including removed parts between them. */
  sourceOf(start: number, end: number): { readonly start: number; readonly end: number }
}

/** Builds a text from consecutive pieces of a source and records their source positions. */
export class ReadingWriter {
  readonly #source: string
  readonly #pieces: string[] = []
  /** Three numbers per piece: its start in the text, and its start and end in the source. */
  readonly #places: number[] = []
  #length = 0

  constructor(source: string) {
    this.#source = source
  }

  keep(start: number, end: number): void {
    if (start < end) this.#add(this.#source.slice(start, end), start, end)
  }

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
      // A replaced piece maps to its complete source.
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

export function plainReading(text: string): Reading {
  return { text, sourceOf: (start, end) => ({ start, end }) }
}

/** Applies `read` to the text of a reading and composes the mappings. */
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
