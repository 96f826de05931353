// Whether the rules under a media query hold where mail is read: on the screen of a desktop, in light
// colours. What is shown or hidden on phones, in print or in the dark alone does not count.

const WIDTH_PX = 1_024
const HEIGHT_PX = 768
const PIXELS_PER_EM = 16
const QUERY_LENGTH_MAX = 1_000

/** Whether the rules within an at-rule of that lower-case name count as if they stood outside of it. */
export function holdsOutside(name: string, prelude: string): boolean {
  return name === 'media' ? holdsOnScreen(prelude) : name === 'supports' || name === 'layer'
}

/** Of a list one query is enough. An unknown feature does not hold. */
function holdsOnScreen(list: string): boolean {
  if (list.length > QUERY_LENGTH_MAX) return false
  return list
    .toLowerCase()
    .replace(/\/\*.*?\*\//gs, ' ')
    .split(',')
    .some((query) => holds(query.trim()))
}

function holds(query: string): boolean {
  if (query === '') return true
  const isNegated = /^not\s/.test(query)
  const parts = query.replace(/^(?:not|only)\s+/, '').split(/\s+and\s+/)
  const isTrue = parts.every((part) => holdsPart(part.trim()))
  return isTrue !== isNegated
}

function holdsPart(part: string): boolean {
  if (!part.startsWith('(')) return part === 'screen' || part === 'all'
  const inner = part.replace(/^\(\s*|\s*\)$/g, '')
  const range = /^(width|height)\s*(<=?|>=?|=)\s*([\d.]+)(px|em|rem)?$/.exec(inner)
  if (range !== null) return inRange(range[1] ?? '', range[2] ?? '', pixels(range[3], range[4]))
  const [feature = '', value = ''] = inner.split(/\s*:\s*/)
  const sized = /^(min|max)-(?:device-)?(width|height)$/.exec(feature)
  if (sized !== null) {
    const length = /^([\d.]+)(px|em|rem)?$/.exec(value)
    return (
      length !== null &&
      inRange(sized[2] ?? '', sized[1] === 'min' ? '>=' : '<=', pixels(length[1], length[2]))
    )
  }
  return PLAIN.has(`${feature}:${value}`)
}

/** What a desktop answers to features without a length. */
const PLAIN = new Set([
  'prefers-color-scheme:light',
  'prefers-reduced-motion:no-preference',
  'orientation:landscape',
  'hover:hover',
  'any-hover:hover',
  'pointer:fine',
  'any-pointer:fine',
  'hover:',
  'color:',
  'width:',
  'height:',
  'min-resolution:1dppx',
  'min-resolution:1dpi',
  'min-resolution:96dpi',
  '-webkit-min-device-pixel-ratio:0',
  '-webkit-min-device-pixel-ratio:1',
])

function pixels(number = '', unit = 'px'): number {
  return Number.parseFloat(number) * (unit === 'px' ? 1 : PIXELS_PER_EM)
}

function inRange(axis: string, relation: string, length: number): boolean {
  const own = axis === 'width' ? WIDTH_PX : HEIGHT_PX
  switch (relation) {
    case '<':
      return own < length
    case '<=':
      return own <= length
    case '>':
      return own > length
    case '>=':
      return own >= length
    default:
      return own === length
  }
}
