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
  vw: 10.24,
  vh: 7.68,
  vmin: 7.68,
  vmax: 10.24,
}
/** What a percentage is of, where nothing says it: the width of a window. */
const WHOLE_PX = 1_024

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
  const sum = /^calc\(([^()]{1,60})\)$/.exec(text)?.[1]
  if (sum !== undefined) return calculated(sum.trim(), fontPx, wholePx)
  const found = /^([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))([a-z]+|%)?$/.exec(text)
  if (found === null) return null
  const number = Number(found[1])
  const unit = found[2] ?? 'px'
  if (unit === '%') return (number / 100) * wholePx
  if (unit === 'em') return number * fontPx
  if (unit === 'ex' || unit === 'ch') return (number * fontPx) / 2
  const factor = PX_PER_UNIT[unit]
  return factor === undefined ? null : number * factor
}

/** One term, or two with an operator between them; null for what has more. */
function calculated(sum: string, fontPx: number, wholePx: number): number | null {
  const terms = /^([^\s*/]+)(?:\s+([+-])\s+|\s*([*/])\s*)([^\s*/]+)$/.exec(sum)
  if (terms === null) return lengthPx(sum, fontPx, wholePx)
  const one = lengthPx(terms[1], fontPx, wholePx)
  const other = lengthPx(terms[4], fontPx, wholePx)
  if (one === null || other === null) return null
  const operator = terms[2] ?? terms[3]
  if (operator === '+') return one + other
  if (operator === '-') return one - other
  return operator === '*' ? one * other : one / other
}
