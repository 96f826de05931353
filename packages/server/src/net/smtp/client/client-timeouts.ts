// How long a server may take for each step, gathered so that a test can make them short. The figures
// and their reasons are those of base/limits.

import {
  SMTP_BLOCK_MS_MAX,
  SMTP_CONNECT_MS_MAX,
  SMTP_CONTENT_MS_MAX,
  SMTP_DATA_MS_MAX,
  SMTP_FINAL_DOT_MS_MAX,
  SMTP_GREETING_MS_MAX,
  SMTP_HANDSHAKE_MS_MAX,
  SMTP_QUIT_MS_MAX,
  SMTP_REPLY_MS_MAX,
} from '#base/limits.ts'

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
