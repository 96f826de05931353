// Seven-bit charsets that switch between character sets by escape sequences: ISO-2022-JP (RFC 1468,
// RFC 1554), -KR (RFC 1557) and -CN (RFC 1922), and HZ (RFC 1843). The sets are decoded through
// their eight-bit forms.

import { TextDecoder } from 'node:util'

const eucJp = new TextDecoder('euc-jp')
const gbk = new TextDecoder('gbk')
const eucKr = new TextDecoder('euc-kr')
const shiftJis = new TextDecoder('shift_jis')

type CharacterSet = 'ascii' | 'roman' | 'katakana' | 'jis' | 'jis-supplement' | 'gb' | 'ksc'

/** Character sets by escape sequence, without its ESC. */
const SETS = new Map<string, CharacterSet>([
  ['(B', 'ascii'],
  ['(J', 'roman'],
  ['(I', 'katakana'],
  ['$@', 'jis'],
  ['$B', 'jis'],
  ['$(@', 'jis'],
  ['$(B', 'jis'],
  ['$(O', 'jis'],
  ['$(Q', 'jis'],
  ['$(D', 'jis-supplement'],
  ['$A', 'gb'],
  ['$(A', 'gb'],
  ['$(C', 'ksc'],
])
/** Character sets that SHIFT OUT switches to, by escape sequence. */
const SHIFTED_SETS = new Map<string, CharacterSet>([
  ['$)A', 'gb'],
  ['$)C', 'ksc'],
])
const SHIFT_OUT = '\x0e'
const SHIFT_IN = '\x0f'

const SWITCH = /\x1b(\$[@AB]|\$[()*+][A-Z@]|[().-/][A-Z@])|[\x0e\x0f\n]/g
/** Matches escape sequences that occur only in ISO-2022 text. */
const ANNOUNCEMENT = /\x1b(?:\$[@AB]|\$\([@ABCD]|\$\)[AC]|\([IJ])/

/** Whether seven-bit octets announce an ISO-2022 character set, whatever their label. */
export function isIso2022(octets: Buffer): boolean {
  return octets.includes(0x1b) && ANNOUNCEMENT.test(octets.toString('latin1'))
}

/** Unsupported characters become U+FFFD. A line end returns to ASCII (RFC 1468, RFC 1557). */
export function decodeIso2022(octets: Uint8Array): string {
  const text = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString('latin1')
  const pieces: string[] = []
  let current: CharacterSet = 'ascii'
  let shifted: CharacterSet | null = null
  let isShifted = false
  let at = 0
  for (const match of text.matchAll(SWITCH)) {
    const set = isShifted && shifted !== null ? shifted : current
    pieces.push(decodeSet(text.slice(at, match.index), set))
    at = match.index + match[0].length
    const [found, sequence = ''] = match
    if (found === '\n') {
      pieces.push('\n')
      current = 'ascii'
      isShifted = false
    } else if (found === SHIFT_OUT || found === SHIFT_IN) isShifted = found === SHIFT_OUT
    else if (SHIFTED_SETS.has(sequence)) shifted = SHIFTED_SETS.get(sequence) ?? null
    else current = SETS.get(sequence) ?? (sequence.startsWith('$') ? 'jis' : 'ascii')
  }
  pieces.push(decodeSet(text.slice(at), isShifted && shifted !== null ? shifted : current))
  return pieces.join('')
}

/** Decodes the text between two escape sequences; blanks and control characters are unchanged. */
function decodeSet(text: string, set: CharacterSet): string {
  if (text === '') return ''
  switch (set) {
    case 'ascii':
      // Windows programs write katakana as single octets without an escape sequence.
      return /[\x80-\xff]/.test(text) ? shiftJis.decode(Buffer.from(text, 'latin1')) : text
    case 'roman':
      return text.replaceAll('~', '‾')
    case 'katakana':
      return text.replace(/[!-_]{1,4096}/g, (found) =>
        decodeHigh(found.replace(/./g, '\x0e$&'), eucJp),
      )
    case 'jis':
      return eucOf(text, eucJp)
    case 'jis-supplement':
      return text.replace(PAIRS, (pairs) =>
        pairs.length === 1 ? '\ufffd' : decodeHigh(pairs.replace(/../g, '\x0f$&'), eucJp),
      )
    case 'gb':
      return eucOf(text, gbk)
    case 'ksc':
      return eucOf(text, eucKr)
  }
}

/** Characters of two octets, or an incomplete character of one octet. */
const PAIRS = /(?:[!-~][!-~]){1,4096}|[!-~]/g

function eucOf(text: string, decoder: TextDecoder): string {
  return text.replace(PAIRS, (pairs) =>
    pairs.length === 1 ? '\ufffd' : decodeHigh(pairs, decoder),
  )
}

function decodeHigh(text: string, decoder: TextDecoder): string {
  const octets = Buffer.from(text, 'latin1')
  for (let index = 0; index < octets.length; index += 1) octets[index] = (octets[index] ?? 0) | 0x80
  return decoder.decode(octets)
}

/** RFC 1843: `~{` and `~}` enclose GB 2312, `~~` is a tilde, and `~` at a line end joins lines. */
export function decodeHz(octets: Uint8Array): string {
  const text = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString('latin1')
  return text.replace(/~~|~\r?\n|~\{[^\n]*?(?:~\}|$)/gm, (found) => {
    if (found === '~~') return '~'
    return found.startsWith('~{') ? eucOf(found.slice(2).replace(/~\}$/, ''), gbk) : ''
  })
}
