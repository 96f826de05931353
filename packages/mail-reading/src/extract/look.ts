import type { Attributes } from '@mailroom/mail/html/scan-markup.ts'
import { cascade, type Styles } from '#view/box.ts'
import { type Declaration, readDeclarations } from '#view/declarations.ts'
import type { StyledElement } from '#view/simple-selector.ts'
import { decodeAttribute } from './decode-entities.ts'

const NO_STYLES: Styles = new Map()

/** Declarations put together. */
export type Look = {
  readonly declarations: readonly Declaration[]
  readonly styles: Styles
  /** False where nothing of them can hide what is within. */
  readonly mayHide: boolean
}

const NO_LOOK: Look = { declarations: [], styles: NO_STYLES, mayHide: false }
/** What style attributes come to by themselves: mail repeats them, within a message and from one to the next. */
const known = new Map<string, Look>()
const KNOWN_MAX = 2_000
const KNOWN_LENGTH_MAX = 300

/** Of a style attribute as it is written. */
export function lookOf(style: string): Look {
  if (style === '') return NO_LOOK
  const before = known.get(style)
  if (before !== undefined) return before
  const look = madeOf([], readDeclarations(decodeAttribute(style)))
  if (style.length > KNOWN_LENGTH_MAX) return look
  if (known.size >= KNOWN_MAX) known.clear()
  // A copy: a part of a text would keep the whole of it.
  known.set(Buffer.from(style).toString(), look)
  return look
}

/** Of rules, the ones that win last, and a style attribute. */
export function madeOf(rules: readonly Declaration[], inline: readonly Declaration[]): Look {
  const styles = cascade(rules, inline)
  return { declarations: inline, styles, mayHide: [...styles].some(mayHide) }
}

/** Colours and letters hide text, never what stands within; sizes do when they are next to nothing. */
function mayHide([property, value]: readonly [string, string]): boolean {
  if (/^(?:color|font-size|background-.*)$/.test(property)) return false
  return (
    !/^(?:max-)?(?:width|height)$/.test(property) || !/^(?:[2-9]|1\d)|^(?:auto|none)$/.test(value)
  )
}

/** Have looks of their own without any style. */
const OWN_BOX = new Set(['a', 'font', 'body'])

/** Whether an element may be shown in another way than what is around it, without any style. */
export function hasOwnLook(name: string, attributes: Attributes): boolean {
  const { bgcolor, background, hidden } = attributes
  return (
    OWN_BOX.has(name) || bgcolor !== undefined || background !== undefined || hidden !== undefined
  )
}

/** By the names that trees of HTML have for them. */
export function propertiesOf(attributes: Attributes): StyledElement['properties'] {
  const { bgcolor, class: classes, ...rest } = attributes
  return {
    ...rest,
    ...(bgcolor === undefined ? {} : { bgColor: bgcolor }),
    ...(classes === undefined ? {} : { className: classes.split(/\s+/, 20) }),
  }
}
