// An address in texts that the service has written: JSON with addresses in any spelling of case.

export const ERASED_ADDRESS = 'erased@erased.invalid'

/** Behind a character that is of no address, or behind an escape such as "\n"; never within an escape. */
const BEGINNING = String.raw`(?:(?<![\w.+\\-])|(?<=(?<!\\)(?:\\\\)*\\[bfnrt"\\]))`

/** The text with the address replaced wherever it stands alone; null when it does not. */
export function replaceAddress(
  text: string,
  addressKey: string,
  replacement = ERASED_ADDRESS,
): string | null {
  const escaped = addressKey.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`${BEGINNING}${escaped}(?![\\w-]|\\.\\w)`, 'gi')
  const without = text.replace(pattern, replacement)
  return without === text ? null : without
}
