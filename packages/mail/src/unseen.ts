// Characters that a person cannot see, for all interfaces that show untrusted text. Runs in
// browsers too.

/**
 * Characters that fonts may ignore (Default_Ignorable_Code_Point: fillers, joiners, directions,
 * selectors, tags), controls except tabs and line ends, line separators, noncharacters, and
 * characters that fonts draw as nothing.
 */
const UNSEEN =
  '\\p{DI}\\0-\\x08\\v-\\x1f\\x7f-\\x9f\\p{NChar}\\u2028\\u2029\\u2800\\ufff9-\\ufffb\\u{16fe4}\\u{1d159}\\u{e0000}-\\u{e0fff}'

/** Characters that change form beside a joiner: Arabic to Sinhala, and Tibetan to Mongolian. */
const JOINING = '(?=[\\p{L}\\p{M}])[\\u0600-\\u0dff\\u0f00-\\u109f\\u1780-\\u17b3\\u17b6-\\u18af]'
/** Scripts that break lines at zero-width spaces: Thai to Burmese, and Khmer. */
const UNSPACED = '[\\u0e00-\\u109f\\u1780-\\u17b3\\u17b6-\\u17ff]'

/**
 * Unseen characters that change the visible text, so that it cannot be confused with other text.
 */
const FORMING = [
  `(?<=${JOINING})[\\u200c\\u200d](?=${JOINING})`,
  '(?<=[\\p{ExtPict}\\p{EMod}]\\ufe0f?)\\u200d(?=\\p{ExtPict})',
  '(?<=(?![0-9#*])\\p{Emoji})[\\ufe0e\\ufe0f]',
  '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
  '(?<=[\\u1800-\\u180a\\u1810-\\u18af])[\\u180b-\\u180d\\u180f]',
  `(?<=${UNSPACED})\\u200b(?=${UNSPACED})`,
  // The flags of England, Scotland and Wales (UTS #51 §C.1).
  '(?<=\\u{1f3f4})\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f}',
].join('|')

// Runs are bounded, because the stack of the regular expression engine is limited.
const IN_LINE = new RegExp(`(${FORMING})|[\\t\\n${UNSEEN}]{1,1000}`, 'gu')
const IN_TEXT = new RegExp(`(${FORMING})|[${UNSEEN}]{1,1000}`, 'gu')
const ANY = /* @__PURE__ */ new RegExp(`[\\t\\n${UNSEEN}]`, 'u')
/** Fast path, because most text has no unseen characters. */
const PLAIN_LINE = /^[\x20-\x7e]*$/
const PLAIN_TEXT = /^[\t\n\x20-\x7e]*$/

/** `text` on one line, with each unseen character as its number: `[U+E0041]`. */
export function shownLine(text: string): string {
  return PLAIN_LINE.test(text) ? text : text.replace(IN_LINE, (run, kept) => kept ?? marks(run))
}

/** `text` with each unseen character as its number; line ends and tabs are kept. */
export function shownText(text: string): string {
  return replaceUnseen(text.replaceAll('\r\n', '\n'), marks)
}

/** `write` replaces each run of unseen characters; line ends and tabs are kept. */
export function replaceUnseen(text: string, write: (run: string, at: number) => string): string {
  if (PLAIN_TEXT.test(text)) return text
  return text.replace(IN_TEXT, (run: string, kept: string | undefined, at: number) => {
    return kept ?? write(run, at)
  })
}

/** Counts the code points of a text that are unseen. */
export function countUnseen(text: string): number {
  let count = 0
  replaceUnseen(text.replaceAll('\r\n', '\n'), (run) => {
    for (const _ of run) count += 1
    return ''
  })
  return count
}

/**
 * The first unseen character as `U+E0041`, or null. `isName` allows characters that form letters
 * and emoji.
 */
export function findUnseen(text: string, { isName = false } = {}): string | null {
  if (!isName) {
    const found = ANY.exec(text)
    return found && codePoint(found[0])
  }
  for (const [run, kept] of text.matchAll(IN_LINE)) if (kept === undefined) return codePoint(run)
  return null
}

function marks(run: string): string {
  let text = ''
  for (const character of run) text += `[${codePoint(character)}]`
  return text
}

/** The code point of the first character, as `U+001B`. */
function codePoint(text: string): string {
  const code = text.codePointAt(0) ?? 0
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
