// The fields and the body that are identical in all messages of the intake benchmark, so that one
// signature covers them.

/** Complete fields without their line ends. */
export function sharedFields(recipient: string): string[] {
  return [
    'From: Bench Sender <bench@sender.example>',
    `To: <${recipient}>`,
    'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
  ]
}

const HEAD_BYTES = 300

/** A body that ends in CRLF and, with the fields, makes a message of about `messageBytes`. */
export function bodyOf(messageBytes: number): string {
  const line = 'The quick brown fox jumps over the lazy dog, and then over the next one.\r\n'
  return line.repeat(Math.max(1, Math.round((messageBytes - HEAD_BYTES) / line.length)))
}
