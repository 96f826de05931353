// The rules of mailbox names, for the service and for forms.

export const MAILBOX_NAME_LENGTH_MIN = 3
const LENGTH_MAX = 30

/** A sentence that states the first broken rule; null for a valid name. */
export function mailboxNameDefect(name: string): string | null {
  if (name.length < MAILBOX_NAME_LENGTH_MIN) {
    return `A mailbox name must have at least ${MAILBOX_NAME_LENGTH_MIN} characters.`
  }
  if (name.length > LENGTH_MAX) return `A mailbox name must have at most ${LENGTH_MAX} characters.`
  if (/[A-Z]/.test(name)) return 'A mailbox name cannot contain upper-case letters.'
  if (/[^a-z0-9.-]/.test(name)) {
    return 'A mailbox name can contain only the letters a to z, digits, dots and hyphens.'
  }
  if (/^[.-]|[.-]$/.test(name)) {
    return 'A mailbox name must begin and end with a letter or a digit.'
  }
  return name.includes('..') ? 'A mailbox name cannot contain two dots in a row.' : null
}
