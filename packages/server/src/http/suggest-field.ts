import { editDistance } from '#config/nearest.ts'

/** Field names of other mail APIs, in lower case without separators, and ours. */
const OTHER_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    text: ['body'],
    textbody: ['body'],
    bodytext: ['body'],
    plaintext: ['body'],
    message: ['body'],
    html: ['bodyHtml'],
    htmlbody: ['bodyHtml'],
    replytoaddress: ['replyTo'],
    toaddr: ['to'],
    recipient: ['to'],
    recipients: ['to'],
    inreplyto: ['threadId'],
    scheduledat: ['sendAt'],
    username: ['mailboxName'],
    localpart: ['mailboxName'],
    name: ['mailboxName', 'filename'],
    fromname: ['displayName'],
    content: ['data'],
    contentbase64: ['data'],
    type: ['contentType'],
    mimetype: ['contentType'],
    events: ['eventTypes'],
    eventtype: ['eventTypes'],
    endpoint: ['url'],
  }),
)

const FROM_FIX =
  'Remove "from": mail is sent from the inbox in the path, and displayName of the inbox is the name in From.'
const TYPOS_MAX = 2

/** The `fix` for an unknown field of `given`, an object with the fields `known`; null without a match. */
export function fixUnknownField(
  name: string,
  { known, given }: { known: readonly string[]; given: object },
): string | null {
  if (/^from(?:email|addr|address)?$/.test(plain(name)) && known.includes('bodyHtml')) {
    return FROM_FIX
  }
  const field = nearestField(name, known)
  return field === null || Object.hasOwn(given, field)
    ? null
    : `Use "${field}" instead of "${name}".`
}

function nearestField(name: string, known: readonly string[]): string | null {
  const same = known.find((one) => plain(one) === plain(name))
  if (same !== undefined) return same
  const ours = OTHER_NAMES.get(plain(name))?.find((one) => known.includes(one))
  if (ours !== undefined) return ours
  return known.find((one) => editDistance(name, one) <= Math.min(TYPOS_MAX, one.length / 3)) ?? null
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}
