import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'

/** Whether the file may contain invitations. The calendar library is loaded only for such files. */
export function isCalendarFile({ filename, contentType }: ParsedAttachment): boolean {
  return /^(?:text\/calendar|application\/ics)$/i.test(contentType) || /\.ics$/i.test(filename)
}
