// The words of RFC 8601, out of whatever a library says.

import type { AuthenticationResult } from '@mailroom/mail/authentication.ts'

const WORDS: ReadonlySet<string> = new Set<AuthenticationResult>([
  'none',
  'pass',
  'fail',
  'softfail',
  'neutral',
  'policy',
  'temperror',
  'permerror',
])

/** `permerror` for a word that is none of them. */
export function resultWord(word: string): AuthenticationResult {
  return WORDS.has(word) ? (word as AuthenticationResult) : 'permerror'
}
