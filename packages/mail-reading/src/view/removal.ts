import { replaceUnseen } from '@mailroom/mail/unseen.ts'

const WORDS = {
  'display-none': 'hidden by display:none',
  visibility: 'hidden by visibility:hidden',
  opacity: 'hidden by opacity:0',
  'tiny-font': 'in a font of 2 pixels or less',
  'zero-size': 'in a box of no size',
  'off-screen': 'placed off the screen',
  clipped: 'clipped away',
  'hidden-attribute': 'hidden by the attribute hidden',
  closed: 'in closed details',
  blurred: 'blurred',
  'mso-hide': 'hidden by mso-hide:all',
  'same-colour': 'in the colour of its background',
  transparent: 'in a transparent colour',
  masked: 'shown as dots',
  noscript: 'in noscript',
  comment: 'in comments',
  'zero-width': 'of no width',
  tag: 'of Unicode tags',
  direction: 'of text direction',
  selector: 'of stray variation selectors',
  'soft-hyphen': 'of soft hyphens',
  control: 'of control',
  'text-part': 'in the text part that the HTML does not say',
  'unseen-part': 'in parts that mail programs do not show',
  'utf-7': 'of UTF-7, which many programs show undecoded',
  unclear: 'shown, though it is not known whether people see them',
  'unread-styles': 'of styles that were not read and may hide text',
  'unread-html': 'of HTML that was not searched for hidden text',
} as const

export type RemovalKind = keyof typeof WORDS
export type Removal = { readonly kind: RemovalKind; readonly characters: number }

/** Describes how text of the kind is hidden, to follow a number of characters. */
export function kindWords(kind: RemovalKind): string {
  return WORDS[kind]
}

export class RemovalTally {
  readonly #counts = new Map<RemovalKind, number>()

  /** `characters` is a number of code points. */
  add(kind: RemovalKind, characters: number): void {
    if (characters > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + characters)
  }

  /** Removals in a fixed order of kinds, so that the result is stable. */
  list(): Removal[] {
    const kinds = Object.keys(WORDS) as RemovalKind[]
    return kinds.flatMap((kind) => {
      const characters = this.#counts.get(kind)
      return characters === undefined ? [] : [{ kind, characters }]
    })
  }
}

/**
 * Adds parts that people do not see, or see differently. Each is counted as one character, because
 * its length is unknown or listed with the attachments.
 */
export function tallyDefects(defects: readonly string[], tally: RemovalTally): void {
  for (const kind of ['unseen-part', 'utf-7'] as const)
    if (defects.includes(kind)) tally.add(kind, 1)
}

/**
 * Returns `412 characters hidden by display:none, 3 of no width`, without any text of the message.
 */
export function describeRemovals(removals: readonly Removal[]): string {
  return removals
    .map(({ kind, characters }, index) => {
      const noun = characters === 1 ? ' character' : ' characters'
      return `${characters}${index === 0 ? noun : ''} ${WORDS[kind]}`
    })
    .join(', ')
}

/** The number of code points of a text; a lone surrogate is one. */
export function countCodePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0xd800 || unit > 0xdbff) continue
    const next = text.charCodeAt(at + 1)
    if (next < 0xdc00 || next > 0xdfff) continue
    count--
    at++
  }
  return count
}

/**
 * `text` with LF line ends and without invisible characters of the kinds `isStripped`. Adds the
 * removed characters to `tally`. Idempotent; runs in linear time.
 */
export function stripInvisible(
  text: string,
  tally: RemovalTally,
  isStripped: (kind: RemovalKind) => boolean = () => true,
): string {
  const lines = text.replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
  return replaceUnseen(lines, (run, at) => {
    let kept = ''
    for (const point of run) {
      const kind = kindOf(point)
      const isForm = kept === '' && isFormOf(point, lines.slice(Math.max(0, at - 2), at))
      if (isForm || !isStripped(kind)) kept += point
      else tally.add(kind, 1)
    }
    return kept
  })
}

/** Whether the invisible characters of a kind can encode letters. */
export function isCarrier(kind: RemovalKind): boolean {
  return kind === 'tag' || kind === 'selector'
}

function kindOf(point: string): RemovalKind {
  const code = point.codePointAt(0) ?? 0
  if (code < 0xa0 || /\p{NChar}/u.test(point)) return 'control'
  if (code === 0xad) return 'soft-hyphen'
  if (/\p{Bidi_C}/u.test(point)) return 'direction'
  if (/\p{Variation_Selector}/u.test(point)) return 'selector'
  // Other code points of the plane are unassigned.
  return code >= 0xe0000 ? 'tag' : 'zero-width'
}

/**
 * Whether a selector chooses a variant of the preceding character (Unicode 17 §23.4), although not
 * every font draws it. The largest collection of ideographic variations has twenty per character.
 */
function isFormOf(point: string, before: string): boolean {
  if (/^[\ufe00-\ufe02]$/.test(point)) return /[\p{Script=Han}\p{Sm}]$/u.test(before)
  return /^[\u{e0100}-\u{e011f}]$/u.test(point) && /\p{Script=Han}$/u.test(before)
}
