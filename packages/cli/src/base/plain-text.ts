// Text of strangers without characters that could control a terminal, hide text or change the reading
// direction. All text from mail passes through these functions before it is printed.

// ECMA-48: control sequences, and control strings with their ends. Lengths are bounded and no part can
// begin another, so matching stays linear; of a string without an end only the beginning is removed.
const SEQUENCES =
  /(?:\x1b\[|\x9b)[\x30-\x3f]{0,64}[\x20-\x2f]{0,16}[\x40-\x7e]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c-\x9f\x90\x98\r\n]{0,4096}(?:\x07|\x1b\\|\x9c)|\x1b[\x20-\x2f]{0,16}[\x30-\x7e]/g

/** Controls except tab and line feed; marks of writing direction; tag characters, which are invisible. */
const CONTROLS =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/** Keeps line breaks. */
export function plainBlock(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(SEQUENCES, '')
    .replaceAll(/[\u2028\u2029]/g, '\n')
    .replaceAll(CONTROLS, '')
}

/** Everything on one line, without tabs. */
export function plainLine(text: string): string {
  return plainBlock(text).replaceAll(/\s+/g, ' ').trim()
}

/** JSON that means the same, with these characters escaped. */
export function plainJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\udb40[\udc00-\udc7f]/g,
    (found) =>
      [...Array(found.length).keys()]
        .map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`)
        .join(''),
  )
}
