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
    sha256: Type.Optional(
      text(
        'SHA-256 of the secret in hexadecimal, for allowedFindings of a policy. Only in reviews, and only for approvers.',
      ),
    ),
  }),
  { description: 'The locations of secrets, never their values.' },
)
