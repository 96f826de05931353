// Lengths of CSS in pixels, as near as hiding asks for.

const PX_PER_UNIT: Readonly<Record<string, number>> = {
  px: 1,
  pt: 4 / 3,
  pc: 16,
  in: 96,
  cm: 37.8,
  mm: 3.78,
  q: 0.945,
  rem: 16,
  rex: 8,
  rch: 8,
  ric: 16,
  rlh: 20,
  rcap: 12,
}
/** Of the font of the element. */
const EM_PER_UNIT: Readonly<Record<string, number>> = {
  em: 1,
  ex: 0.5,
  ch: 0.5,
  ic: 1,
  cap: 0.7,
  lh: 1.2,
}
/** A hundredth of the window, in all its forms. */
const VIEWPORT_UNIT = /^(?:[sld]?v|cq)(w|h|i|b|min|max)$/
/** What a percentage is of, where nothing says it: the width of a window. */
const WHOLE_PX = 1_024
const VIEWPORT_PX: Readonly<Record<string, number>> = { w: 10.24, i: 10.24, max: 10.24 }
const VIEWPORT_HEIGHT_PX = 7.68

/**
 * Null for what is no length. `fontPx`: what `em` stands for; `wholePx`: what a percentage is of. A
 * number without a unit counts as pixels, as browsers read it in mail without a doctype.
 */
export function lengthPx(
  text: string | undefined,
  fontPx: number,
  wholePx = WHOLE_PX,
): number | null {
  if (text === undefined) return null
  return measure(text, fontPx, wholePx)?.value ?? null
}

export type Measured = {
  readonly value: number
  /** A length or a percentage, and no plain number. */
  readonly isLength: boolean
}

/** A number, a length, a percentage, or a calculation of those (CSS Values 4 §10); null for all else. */
export function measure(text: string, fontPx: number, wholePx = WHOLE_PX): Measured | null {
  if (!text.includes('(')) return term(text, fontPx, wholePx)
  if (text.length > CALCULATION_LENGTH_MAX) return null
  return new Calculation(text, fontPx, wholePx).result()
}

const CALCULATION_LENGTH_MAX = 200

function term(text: string, fontPx: number, wholePx: number): Measured | null {
  const found = /^([+-]?(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)([a-z]+|%)?$/.exec(
    text,
  )
  if (found === null) return null
  const number = Number(found[1])
  const unit = found[2]
  if (unit === undefined) return { value: number, isLength: false }
  const px = pxOf(unit, fontPx, wholePx)
  return px === null ? null : { value: number * px, isLength: true }
}

function pxOf(unit: string, fontPx: number, wholePx: number): number | null {
  if (unit === '%') return wholePx / 100
  const em = EM_PER_UNIT[unit]
  if (em !== undefined) return em * fontPx
  const axis = VIEWPORT_UNIT.exec(unit)?.[1]
  if (axis !== undefined) return VIEWPORT_PX[axis] ?? VIEWPORT_HEIGHT_PX
  return PX_PER_UNIT[unit] ?? null
}

const NESTED_MAX = 8

/** Reads one calculation from left to right. */
class Calculation {
  readonly #text: string
  readonly #fontPx: number
  readonly #wholePx: number
  #at = 0
  #depth = 0

  constructor(text: string, fontPx: number, wholePx: number) {
    this.#text = text
    this.#fontPx = fontPx
    this.#wholePx = wholePx
  }

  result(): Measured | null {
    const value = this.#value()
    this.#skipBlanks()
    return this.#at === this.#text.length ? value : null
  }

  #sum(): Measured | null {
    let sum = this.#product()
    for (;;) {
      const operator = this.#take(/\s+([+-])(?=\s)/y)
      if (operator === null || sum === null) return sum
      const next = this.#product()
      if (next === null || next.isLength !== sum.isLength) return null
      const sign = operator === '+' ? 1 : -1
      sum = { value: sum.value + sign * next.value, isLength: sum.isLength }
    }
  }

  #product(): Measured | null {
    let product = this.#value()
    for (;;) {
      const operator = this.#take(/\s*([*/])/y)
      if (operator === null || product === null) return product
      const next = this.#value()
      if (next === null) return null
      if (next.isLength && (operator === '/' || product.isLength)) return null
      product = {
        value: operator === '*' ? product.value * next.value : product.value / next.value,
        isLength: product.isLength || next.isLength,
      }
    }
  }

  #value(): Measured | null {
    this.#skipBlanks()
    const call = this.#take(/((?:calc|min|max|clamp)?\()/y)
    if (call === null) {
      const text = this.#take(/([+-]?[\d.]+(?:e[+-]?\d+)?(?:[a-z]+|%)?)/y)
      return text === null ? null : term(text, this.#fontPx, this.#wholePx)
    }
    if (++this.#depth > NESTED_MAX) return null
    const values: Measured[] = []
    do {
      const value = this.#sum()
      if (value === null) return null
      values.push(value)
      this.#skipBlanks()
    } while (this.#take(/(,)/y) !== null)
    if (this.#take(/(\))/y) === null) return null
    this.#depth -= 1
    return combined(call.slice(0, -1), values)
  }

  #skipBlanks(): void {
    this.#take(/(\s*)/y)
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return null
    this.#at = pattern.lastIndex
    return found[1] ?? ''
  }
}

function combined(name: string, all: readonly Measured[]): Measured | null {
  const [first] = all
  if (first === undefined || all.some(({ isLength }) => isLength !== first.isLength)) return null
  const values = all.map(({ value }) => value)
  const { isLength } = first
  if (name === 'min') return { value: Math.min(...values), isLength }
  if (name === 'max') return { value: Math.max(...values), isLength }
  const [low = 0, middle = 0, high = 0] = values
  if (name === 'clamp') {
    return all.length === 3 ? { value: Math.max(low, Math.min(middle, high)), isLength } : null
  }
  return all.length === 1 ? first : null
}
