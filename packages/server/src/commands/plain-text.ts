// Text of strangers on the operator's terminal.

/** `text` on one line, with `?` for what could steer a terminal or turn the direction of reading. */
export function plainText(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?')
}
