// The last step of every text that leaves the parser: what no database and no JSON can hold alike is
// taken out here, once.

/**
 * `text` without NUL (PostgreSQL refuses it, SQLite stops at it) and with lone surrogates replaced
 * by U+FFFD. Any other character stays. Applying it twice changes nothing.
 */
export function cleanText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

/** Clean text on one line: also without line breaks and other control characters, trimmed. */
export function cleanLine(text: string): string {
  return cleanText(
    text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '').replace(/[\t\r\n]+/g, ' '),
  ).trim()
}
