// Makes untrusted text safe to print: without characters that control a terminal, hide text or
// change the reading direction. All text from mail passes through these functions.

import { replaceUnseen, shownText } from '@mailroom/mail/unseen.ts'

/** Keeps line breaks; invisible characters are shown by their code points: `[U+001B]`. */
export function plainBlock(text: string): string {
  return shownText(text.replaceAll(/\r\n?/g, '\n'))
}

export function plainLine(text: string): string {
  return plainBlock(text).replaceAll(/\s+/g, ' ').trim()
}

/** Equivalent JSON with invisible characters escaped. */
export function plainJson(value: unknown, indent?: number): string {
  return replaceUnseen(JSON.stringify(value, null, indent), (found) =>
    [...Array(found.length).keys()]
      .map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
