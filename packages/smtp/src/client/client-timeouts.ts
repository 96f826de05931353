// How long a server may take for each step, gathered so that a test can make them short. The figures
// and their reasons are those of base/limits.

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * 60_000
const SMTP_CONNECT_MS_MAX = 30 * SECOND_MS
const SMTP_HANDSHAKE_MS_MAX = MINUTE_MS
/** RFC 5321 §4.5.3.2.1. */
const SMTP_GREETING_MS_MAX = 5 * MINUTE_MS
/** RFC 5321 §4.5.3.2.2 and 3, for every other command as well. */
const SMTP_REPLY_MS_MAX = 5 * MINUTE_MS
/** RFC 5321 §4.5.3.2.4. */
const SMTP_DATA_MS_MAX = 2 * MINUTE_MS
/** RFC 5321 §4.5.3.2.5: for each SMTP_BLOCK_BYTES of content to be taken. */
const SMTP_BLOCK_MS_MAX = 3 * MINUTE_MS
/** All blocks together: a server that reads octet by octet must not hold its place for days. */
const SMTP_CONTENT_MS_MAX = HOUR_MS
/** RFC 5321 §4.5.3.2.6: a shorter wait after the final dot makes duplicates. */
export const SMTP_FINAL_DOT_MS_MAX = 10 * MINUTE_MS
/** How long a server may take to answer QUIT; nothing depends on it. */
const SMTP_QUIT_MS_MAX = 2 * SECOND_MS

export const defaultClientTimeouts = {
  connectMs: SMTP_CONNECT_MS_MAX,
  handshakeMs: SMTP_HANDSHAKE_MS_MAX,
  greetingMs: SMTP_GREETING_MS_MAX,
  /** EHLO, STARTTLS, AUTH, MAIL, RCPT, RSET: each reply, whole. */
  replyMs: SMTP_REPLY_MS_MAX,
  dataMs: SMTP_DATA_MS_MAX,
  /** For each 64 KiB of content to be taken. */
  blockMs: SMTP_BLOCK_MS_MAX,
  /** For all of the content. */
  contentMs: SMTP_CONTENT_MS_MAX,
  finalDotMs: SMTP_FINAL_DOT_MS_MAX,
  quitMs: SMTP_QUIT_MS_MAX,
}

export type ClientTimeouts = Readonly<typeof defaultClientTimeouts>
