// Names that an inbox may not have, because its mail could be mistaken for mail of the service (by
// approvers above all) or could prove control of its domain to a certificate authority.

const RESERVED = [
  // RFC 2142 §4 and §5: technical roles. Business roles (§3: info, marketing, sales, support) stay free.
  'abuse',
  'noc',
  'security',
  'postmaster',
  'hostmaster',
  'webmaster',
  // CA/Browser Forum Baseline Requirements §3.2.2.4.4: mail to admin, administrator, webmaster,
  // hostmaster or postmaster proves control of a domain, which is enough for a certificate.
  'admin',
  'administrator',
  // Common names of administrators; certificates have also been issued to ssladmin.
  'root',
  'sysadmin',
  'ssladmin',
  // Senders of automatic mail, and recipients of reports (RFC 7489, RFC 8460).
  'mailer-daemon',
  'noreply',
  'bounce',
  'bounces',
  'dmarc-reports',
  'tls-reports',
  // The service itself, and its mail to approvers.
  'mailroom',
  'held-mail',
  'reviews',
  'approvals',
].map(withoutSigns)

/** Return paths are `b+<id>.<mac>@`, so an inbox of this name would receive them all. */
export const RETURN_PATH_NAME = 'b'

/** On the service's own domain, only the operator may assign these names. Ignores punctuation. */
export function isReservedName(name: string): boolean {
  return RESERVED.includes(withoutSigns(name)) || isServiceName(name) || name === RETURN_PATH_NAME
}

function withoutSigns(name: string): string {
  return name.replaceAll(/[._-]/g, '')
}

/** Characters that look like letters of the service's names (Unicode confusables, UTS 39). */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: 'а α ɑ ᴀ ⍺ ꭺ 4 @',
  d: 'ԁ ɗ ᴅ đ ժ ძ',
  e: 'е ε є ҽ ᴇ ɛ ℮ ꭼ 3',
  h: 'һ н հ ʜ ħ ꮋ ꮒ',
  // A capital I looks like a small l.
  l: 'i і ı ɩ ɪ ι ӏ ł ꙇ ǀ ∣ ǃ ا ו ן ߊ ꮮ ʟ 1 | !',
  m: 'м μ ᴍ ɱ ϻ ꮇ',
  o: 'о ο σ օ ᴏ ᴑ ø ס ه ٥ ۵ ० ๐ ໐ ⲟ ௦ ం ං ഠ 〇 ○ ◯ 0',
  r: 'г ᴦ ʀ ꭇ ꭈ ⲅ ɾ ꭱ',
  s: 'ѕ ꜱ ꮪ $ 5',
  t: 'т τ ᴛ ꭲ 7',
  v: 'ν ѵ ᴠ ꮩ',
}

const LETTERS = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([letter, alike]) =>
    alike.split(' ').map((character) => [character, letter] as const),
  ),
)

export const SERVICE_NAME = 'Mailroom'
const HELD_MAIL = 'held mail'

const OF_SERVICE = [
  '',
  'review',
  'reviews',
  'approval',
  'approvals',
  'approver',
  'approvers',
  'admin',
  'notification',
  'notifications',
  'postmaster',
  'security',
  'service',
  'support',
  'system',
  'team',
].flatMap((word) => [
  skeletonOf(`${SERVICE_NAME} ${word}`),
  skeletonOf(`the ${SERVICE_NAME} ${word}`),
])

export function isServiceName(displayName: string): boolean {
  const skeleton = skeletonOf(displayName)
  return OF_SERVICE.includes(skeleton) || skeleton.includes(skeletonOf(HELD_MAIL))
}

/** Equal for names that look alike. Ignores case, punctuation, spaces and invisible characters. */
function skeletonOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
  const letters = Array.from(plain, (character) => LETTERS.get(character) ?? character).join('')
  return letters
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('cl', 'd')
}
