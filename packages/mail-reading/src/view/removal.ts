const WORDS = {
  'display-none': 'hidden by display:none',
  visibility: 'hidden by visibility:hidden',
  opacity: 'hidden by opacity:0',
  'tiny-font': 'in a font of 2 pixels or less',
  'zero-size': 'in a box of no size',
  'off-screen': 'placed off the screen',
  clipped: 'clipped away',
  'hidden-attribute': 'hidden by the attribute hidden',
  'mso-hide': 'hidden by mso-hide:all',
  'same-colour': 'in the colour of its background',
  transparent: 'in a transparent colour',
  noscript: 'in noscript',
  comment: 'in comments',
  'zero-width': 'of no width',
  tag: 'of Unicode tags',
  direction: 'of text direction',
  selector: 'of stray variation selectors',
  'soft-hyphen': 'of soft hyphens',
  control: 'of control',
} as const

export type RemovalKind = keyof typeof WORDS
export type Removal = { readonly kind: RemovalKind; readonly characters: number }

/** Sums of what was left out. */
export class RemovalTally {
  readonly #counts = new Map<RemovalKind, number>()

  /** `characters`: code points; none is nothing. */
  add(kind: RemovalKind, characters: number): void {
    if (characters > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + characters)
  }

  /** In the order of the kinds, so that it is the same each time. */
  list(): Removal[] {
    const kinds = Object.keys(WORDS) as RemovalKind[]
    return kinds.flatMap((kind) => {
      const characters = this.#counts.get(kind)
      return characters === undefined ? [] : [{ kind, characters }]
    })
  }
}

/** `412 characters hidden by display:none, 3 of no width`; holds nothing that the mail says. */
export function describeRemovals(removals: readonly Removal[]): string {
  return removals
    .map(({ kind, characters }, index) => {
      const noun = characters === 1 ? ' character' : ' characters'
      return `${characters}${index === 0 ? noun : ''} ${WORDS[kind]}`
    })
    .join(', ')
}

/** Unicode code points of a text; a lone surrogate counts as one. */
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
