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

/** Counts the characters that were left out. */
export class RemovalTally {
  readonly #counts = new Map<RemovalKind, number>()

  /** `characters`: code points. */
  add(kind: RemovalKind, characters: number): void {
    if (characters > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + characters)
  }

  /** In the order of the kinds, so that the result is stable. */
  list(): Removal[] {
    const kinds = Object.keys(WORDS) as RemovalKind[]
    return kinds.flatMap((kind) => {
      const characters = this.#counts.get(kind)
      return characters === undefined ? [] : [{ kind, characters }]
    })
  }
}

/** Adds the parts that people do not see, or see otherwise; their length is that of the attachments, or not known. */
export function tallyDefects(defects: readonly string[], tally: RemovalTally): void {
  for (const kind of ['unseen-part', 'utf-7'] as const)
    if (defects.includes(kind)) tally.add(kind, 1)
}

/** `412 characters hidden by display:none, 3 of no width`; holds no text of the mail. */
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

/**
 * `text` with LF line ends and without invisible characters of the kinds `isStripped`, which are added to `tally`.
 * Applying it twice changes nothing. Time is linear.
 */
export function stripInvisible(
  text: string,
  tally: RemovalTally,
  isStripped: (kind: RemovalKind) => boolean = () => true,
): string {
  if (!SUSPECT.test(text)) return text
  const points = Array.from(text.replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n'))
  const kept: string[] = []
  for (let at = 0; at < points.length; at++) {
    const point = points[at] ?? ''
    if (point === FLAG) {
      const end = endOfFlag(points, at)
      kept.push(...points.slice(at, end))
      at = end - 1
      continue
    }
    const kind = kindOf(point)
    const isKept =
      kind === null || !isStripped(kind) || isNeeded(point, kept.at(-1) ?? '', points[at + 1] ?? '')
    if (isKept) kept.push(point)
    else tally.add(kind, 1)
  }
  return kept.join('')
}

/** Whether the invisible characters of a kind can stand for letters. */
export function isCarrier(kind: RemovalKind): boolean {
  return kind === 'tag' || kind === 'selector'
}

/** Matches all characters that `kindOf` names, some others, and line ends other than LF. */
const SUSPECT =
  /[^\t\n\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u061b\u061d-\u115e\u1161-\u17b3\u1e00-\u200a\u2010-\u2027\u2070-\u20cf\u2100-\u3163\u3165-\ud7ff]/

/** The black flag; tags after it name a region (UTS #51 §C.1). */
const FLAG = '\u{1f3f4}'
const CANCEL_TAG = 0xe007f
const FLAG_TAGS_MAX = 6

function endOfFlag(points: readonly string[], start: number): number {
  for (let at = start + 1; at <= start + 1 + FLAG_TAGS_MAX; at++) {
    const code = points[at]?.codePointAt(0) ?? 0
    if (code === CANCEL_TAG && at > start + 2) return at + 1
    const isTagOfRegion =
      (code >= 0xe0030 && code <= 0xe0039) || (code >= 0xe0061 && code <= 0xe007a)
    if (!isTagOfRegion) return start + 1
  }
  return start + 1
}

/** The kind of an invisible character; null for a visible one, and for blanks and line ends. */
function kindOf(point: string): RemovalKind | null {
  const code = point.codePointAt(0) ?? 0
  if (code < 0xad) {
    const isControl =
      (code < 0x20 && code !== 0x09 && code !== 0x0a) || (code > 0x7e && code < 0xa0)
    return isControl ? 'control' : null
  }
  if (code === 0xad) return 'soft-hyphen'
  if (isDirection(code)) return 'direction'
  if (isSelector(code)) return 'selector'
  // The rest of the plane has no characters, and nobody sees it.
  if (code >= 0xe0000 && code <= 0xe0fff) return 'tag'
  if (code >= 0xfdd0 && code <= 0xfdef) return 'control'
  return ZERO_WIDTH.some(([first, last]) => code >= first && code <= last) ? 'zero-width' : null
}

/** First and last of each range. */
const ZERO_WIDTH = [
  [0x34f, 0x34f],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180e, 0x180e],
  [0x200b, 0x200d],
  [0x2060, 0x2065],
  [0x206a, 0x206f],
  [0x3164, 0x3164],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
] as const

function isDirection(code: number): boolean {
  return (
    code === 0x61c ||
    code === 0x200e ||
    code === 0x200f ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069)
  )
}

function isSelector(code: number): boolean {
  return (
    (code >= 0xfe00 && code <= 0xfe0f) ||
    (code >= 0xe0100 && code <= 0xe01ef) ||
    (code >= 0x180b && code <= 0x180d) ||
    code === 0x180f
  )
}

const JOINER = '\u200d'
const NON_JOINER = '\u200c'
const SPACE_OF_NO_WIDTH = '\u200b'
/** Scripts whose letters change with a joiner or non-joiner beside them. */
const JOINING =
  /^(?=[\p{L}\p{M}])[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Mandaic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Tibetan}\p{Script=Myanmar}\p{Script=Khmer}]$/u
/** Scripts that set no blanks between words, where a zero-width space tells a line where to break. */
const UNSPACED =
  /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]$/u
const EMOJI = /^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f)$/u
/** What each kind of selector chooses the form of (Unicode 17 §23.4); the others carry nothing but themselves. */
const FORMS: readonly { readonly selectors: RegExp; readonly of: RegExp }[] = [
  { selectors: /^[\ufe0e\ufe0f]$/, of: /^\p{Emoji}$/u },
  { selectors: /^[\ufe00-\ufe02]$/, of: /^[\p{Script=Han}\p{Sm}]$/u },
  { selectors: /^[\u180b-\u180d\u180f]$/, of: /^\p{Script=Mongolian}$/u },
  // Ideographic variations; the largest collection uses twenty for a character.
  { selectors: /^[\u{e0100}-\u{e011f}]$/u, of: /^\p{Script=Han}$/u },
]

function isNeeded(point: string, before: string, after: string): boolean {
  if (point === JOINER && EMOJI.test(before) && EMOJI.test(after)) return true
  if (point === JOINER || point === NON_JOINER) return JOINING.test(before) && JOINING.test(after)
  if (point === SPACE_OF_NO_WIDTH) return UNSPACED.test(before) && UNSPACED.test(after)
  return FORMS.some(({ selectors, of }) => selectors.test(point) && of.test(before))
}
