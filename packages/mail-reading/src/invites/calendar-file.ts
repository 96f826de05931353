import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'

/** Whether the file may contain invitations; no library is loaded for other files. */
export function isCalendarFile({ filename, contentType }: ParsedAttachment): boolean {
  return /^(?:text\/calendar|application\/ics)$/i.test(contentType) || /\.ics$/i.test(filename)
}
