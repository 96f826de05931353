// Replaces an address in texts that the service has written, such as JSON.

export const ERASED_ADDRESS = 'erased@erased.invalid'

/** The address must not be part of a longer address or follow an escape such as "\n". */
const BEGINNING = String.raw`(?:(?<![\w.+\\-])|(?<=(?<!\\)(?:\\\\)*\\[bfnrt"\\]))`

/** Ignores case. Returns null if the text does not contain the address. */
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
