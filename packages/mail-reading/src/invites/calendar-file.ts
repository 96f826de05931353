import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'

/** Whether the file may hold invites: no library is loaded for others. */
export function isCalendarFile({ filename, contentType }: ParsedAttachment): boolean {
  return /^(?:text\/calendar|application\/ics)$/i.test(contentType) || /\.ics$/i.test(filename)
}
