// Text as it is compared: one character for one, so that a place in the folded text is the same place
// in the text. Knows scripts, no languages.

const INVISIBLE =
  /\u034f|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|[\ufe00-\ufe0f]|\udb40[\udc00-\udfff]/g
const ODD_SPACE = /[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g
const BEYOND_ASCII = /[^\x00-\x7f]/g
const BEYOND_ASCII_ONCE = /[^\x00-\x7f]/

/** Without characters that nobody sees, and with every blank but line breaks as a space. */
export function visibleText(text: string): string {
  const spaced = text.includes('\t') ? text.replaceAll('\t', ' ') : text
  return BEYOND_ASCII_ONCE.test(spaced)
    ? spaced.replace(INVISIBLE, '').replace(ODD_SPACE, ' ')
    : spaced
}

/** Digits of all scripts and full-width letters as ASCII, of the same length; case is kept. */
export function plainForm(line: string): string {
  return BEYOND_ASCII_ONCE.test(line) ? line.replace(BEYOND_ASCII, plainChar) : line
}

/** As the words of the tables are compared: lower case, no marks on letters, of the same length. */
export function foldLine(line: string): string {
  if (!BEYOND_ASCII_ONCE.test(line)) return line.toLowerCase()
  return line.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).replace(BEYOND_ASCII, foldChar)
}

/** The zeros of scripts whose ten digits follow each other. */
const ZEROS = [0x0660, 0x06f0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0be6, 0x0c66, 0x0e50, 0xff10]
const FULL_WIDTH_OFFSET = 0xfee0

function plainChar(char: string): string {
  const code = char.charCodeAt(0)
  const zero = ZEROS.find((first) => code >= first && code < first + 10)
  if (zero !== undefined) return String(code - zero)
  return code >= 0xff01 && code <= 0xff5e ? String.fromCharCode(code - FULL_WIDTH_OFFSET) : char
}

/** Letters whose mark Unicode does not take apart, and other forms of one character. */
const SAME_AS: ReadonlyMap<string, string> = new Map([
  ['ı', 'i'],
  ['İ', 'i'],
  ['ł', 'l'],
  ['Ł', 'l'],
  ['ø', 'o'],
  ['Ø', 'o'],
  ['đ', 'd'],
  ['Đ', 'd'],
  ['’', "'"],
  ['‘', "'"],
  ['‐', '-'],
  ['‑', '-'],
  ['–', '-'],
  ['—', '-'],
  ['−', '-'],
  ['أ', 'ا'],
  ['إ', 'ا'],
  ['آ', 'ا'],
])
/** Scripts up to here have letters with marks; beyond, taking a syllable apart would change it. */
const MARKED_MAX = 0x0600

const folded = new Map<string, string>()
const FOLDED_MAX = 5_000

function foldChar(char: string): string {
  const known = folded.get(char)
  if (known !== undefined) return known
  const made = makeFolded(char)
  if (folded.size < FOLDED_MAX) folded.set(char, made)
  return made
}

function makeFolded(char: string): string {
  const same = SAME_AS.get(char)
  if (same !== undefined) return same
  const plain = plainChar(char)
  if (plain !== char) return plain.toLowerCase()
  const code = char.charCodeAt(0)
  const isMarked = code < MARKED_MAX || (code >= 0x1e00 && code <= 0x1fff)
  const lower = (isMarked ? char.normalize('NFD').charAt(0) : char).toLowerCase()
  return lower.length === 1 ? lower : char
}
