import { HTML_LINK_LENGTH_MAX } from '#html/text.ts'

const PROPERTY =
  /^(?:color|background(?:-color)?|font(?:-(?:family|size|style|weight|variant))?|line-height|letter-spacing|word-spacing|text-(?:align|decoration|transform|indent)|vertical-align|white-space|direction|unicode-bidi|display|(?:max-|min-)?(?:width|height)|(?:margin|padding)(?:-(?:top|right|bottom|left))?|border(?:-(?:top|right|bottom|left))?(?:-(?:color|style|width))?|border-(?:collapse|spacing|radius)|list-style(?:-type)?|table-layout|word-break|word-wrap|overflow-wrap)$/
/** Names, numbers, colours and lists of them; functions only for colours. No number below zero. */
const VALUE = /^(?:[\w#%.,'" !]|(?<=[a-z])-(?=[a-z])|(?<=\brgba?)\(|\))*$/i

/** '' when nothing is left, or when there is more of it than text needs. */
export function sanitiseStyle(style: string): string {
  if (style.length > HTML_LINK_LENGTH_MAX) return ''
  const kept: string[] = []
  for (const declaration of style.split(';')) {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(0, colon)).trim().toLowerCase()
    const value = declaration.slice(colon + 1).trim()
    if (value !== '' && PROPERTY.test(property) && VALUE.test(value))
      kept.push(`${property}:${value}`)
  }
  return kept.join(';')
}
