import { Type } from './schema.ts'
import { count, text } from './text.ts'

/** The positions of secrets, never their values. */
export const findings = Type.Array(
  Type.Object({
    kind: text('The kind of secret.'),
    part: text(
      'Its location: subject, bodyText, bodyHtml, headers, from, to, cc, bcc, replyTo, or attachment: and the number of the file.',
    ),
    offset: count('Its start, in UTF-16 units.'),
    length: count('Its length in UTF-16 units.'),
  }),
  { description: 'The locations of secrets, never their values.' },
)
