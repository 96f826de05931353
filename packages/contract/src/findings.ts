import { Type } from './schema.ts'
import { count, text } from './text.ts'

/** The positions of secrets, never their values. */
export const findings = Type.Array(
  Type.Object({
    kind: text('The kind of secret.'),
    part: text(
      'The part that contains the secret: subject, bodyText, bodyHtml, headers, from, to, cc, bcc, replyTo, or attachment: followed by the number of the file.',
    ),
    offset: count('The start of the secret, in UTF-16 units.'),
    length: count('The length of the secret, in UTF-16 units.'),
  }),
  { description: 'The locations of secrets, never their values.' },
)
