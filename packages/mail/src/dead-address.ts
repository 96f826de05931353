// Whether a refused recipient does not exist, as opposed to being full, unwanted or out of order.

export type Refusal = {
  readonly code: number
  /** RFC 3463, where the server gave one. */
  readonly enhanced: string | null
  readonly text: string
}

/** No mailbox, no such system, null MX (RFC 7505), and a mailbox disabled for good. */
export const DEAD_CODES: ReadonlySet<string> = new Set(['5.1.1', '5.1.2', '5.1.10', '5.2.1'])

/** Enhanced codes that say no more than "no", beside which the wording counts. */
const VAGUE = new Set(['5.0.0', '5.1.0', '5.3.0', '5.5.0', '5.5.1'])

// No bare "account": as often as the recipient's it is that of whoever sends. No host, domain or mail
// exchanger that is unknown: it may be the client's, and no "valid recipients", which a server misses
// after whatever refusal. Nor that mail is not accepted, for it may be mail from there.
const DEAD_WORDINGS = [
  /\bno such (?:user|recipient|mailbox|address|person)/i,
  /\b(?:user|recipient|mailbox|address|addressee)(?: address)? (?:is )?(?:unknown|not found|not exist|invalid)/i,
  /\brecipient(?: name| address)? (?:is )?not recognized/i,
  /\b(?:unknown|invalid|non-?existent|nonexistent) (?:user|recipient|mailbox|address|local[- ]part)/i,
  /\b(?:user|recipient|mailbox|address)\b.{0,60}\b(?:does ?n[o']t|does not|doesn't|did not) exist/i,
  /\b(?:user|mailbox|recipient)(?: [^\s@]{1,64}@[^\s@]{1,255})? (?:has been|is|was) (?:disabled|deactivated|deleted|closed|suspended|discontinued)\s{0,4}(?:$|[.,;:!()])/i,
  /\b(?:recipient|mailbox)\b.{0,20}\bno longer (?:on|at|with|here|exists?|valid|available|active|in use)\b/i,
  /\bno mailbox (?:here )?by that name/i,
  /\bunrouteable address/i,
]

/**
 * What is said beside those words when the address is good and the sender is not, or space is short.
 * Whoever is addressed as "you" is the client that sends.
 */
const OTHER_WORDINGS =
  /\b(?:full|quota|spam|blocked|blacklist|blocklist|denied|policy|reputation|rejected due|too many|try again|temporar|authenticat|(?:your|sender|helo|ehlo)\b)/i

/** For a reply to RCPT: whether nothing more is to be sent there. */
export function isDeadAddress({ code, enhanced, text }: Refusal): boolean {
  if (code < 500 || code > 599) return false
  if (enhanced !== null && !VAGUE.has(enhanced)) return DEAD_CODES.has(enhanced)
  if (OTHER_WORDINGS.test(text)) return false
  return saysDeadAddress(text)
}

/** Whether the words are those of a dead address, which nobody says of the sender; whatever else they say. */
export function saysDeadAddress(text: string): boolean {
  return DEAD_WORDINGS.some((wording) => wording.test(text))
}
