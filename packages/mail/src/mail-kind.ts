// Classifies a message by its header and envelope alone. Collects the signs that a program sent the
// message or a list forwarded it, and derives its category. A message without signs is personal.

import type {
  CategoryReason,
  KindSign,
  Mailbox,
  MailCategory,
  ParsedHeaders,
} from '#mime/parsed-message.ts'
import { cleanLine } from './charset.ts'
import { decodeWords } from './encoded-word.ts'
import { firstField, type HeaderField } from './header-fields.ts'
import {
  isBounceAddress,
  isListHostPath,
  isPathOfList,
  isPostmaster,
  PROGRAM,
  type Read,
  readAddress,
  readName,
  TOKEN_TAG,
} from './kind-senders.ts'

/** Maximum characters of a sign's detail. */
const DETAIL_LENGTH_MAX = 160
const SUBJECT_LENGTH_MAX = 300

type Says = KindSign['says']

/** The signs in a header, with each rule once, in the order of the fields. Never throws. */
export function readKindSigns(
  fields: readonly HeaderField[],
  {
    subject,
    from,
    replyTo,
    to,
    cc,
  }: Pick<ParsedHeaders, 'subject' | 'from' | 'replyTo' | 'to' | 'cc'>,
): KindSign[] {
  const isReply = fields.some(({ name, value }) => name === 'in-reply-to' && value !== '')
  // Mailing lists prefix the subjects of their posts with the list's name.
  const isPost = isReply || /^\s*\[[^\]]{1,40}\]/.test(subject)
  const signs = new Map<string, KindSign>()
  const add = (read: Read, detail: string) => {
    if (read === null || signs.has(read.rule)) return
    const says = saysOfPost(read, { isReply, isPost })
    signs.set(read.rule, { ...read, says, detail: detail.slice(0, DETAIL_LENGTH_MAX) })
  }
  const context = { author: from?.address ?? '', addressees: [...to, ...cc, ...replyTo] }
  const isAlias = fields.some(({ name }) => ALIAS_FORWARDER.test(name))
  for (const { name, value } of fields) {
    if (value === '' && !name.startsWith('x-ms-')) continue
    // Alias services add this field to personal mail that they forward.
    if (isAlias && name.startsWith('list-unsubscribe')) continue
    const path = NOTED_PATHS.has(name) ? pathIn(value) : null
    if (name === 'sender' && isAddressee(path, context)) {
      add(LIST, `Sender: ${cleanLine(value)}`)
      continue
    }
    const read =
      (path === null ? null : (readPath(path, context) ?? readAddress(path))) ??
      readField(name, value)
    add(read, `${titleOf(name)}: ${cleanLine(value)}`)
  }
  const title = subject.slice(0, SUBJECT_LENGTH_MAX)
  add(readSubject(title, isReply), `Subject: ${title}`)
  if (from !== null && !isReply && isPostmaster(from) && FAILURE_SUBJECT.test(title)) {
    add({ rule: 'bounce-subject', says: 'bounce' }, `Subject: ${title}`)
  }
  for (const address of [from?.address, ...replyTo.map((one) => one.address)]) {
    if (address !== undefined) add(readAddress(address), address)
  }
  // The sender name of a field like `From: Mail Delivery Subsystem`, which has no address.
  const name = from?.address.includes('@') === true ? from.name : firstField(fields, 'from')
  add(readName(decodeWords(name ?? '')), `From: ${cleanLine(name ?? '')}`)
  const token = replyTo.find(({ address }) => TOKEN_TAG.test(address))
  if (token !== undefined) add(PROGRAM('service-mailbox'), token.address)
  // Mail systems send reports without an author.
  if (from === null || !/.@./.test(from.address)) {
    add(PROGRAM('no-author'), `From: ${cleanLine(firstField(fields, 'from') ?? '')}`)
  }
  const [onlyTo] = to
  if (to.length === 1 && cc.length === 0 && from !== null && isSame(onlyTo, from)) {
    // The recipients are hidden, or the only one is the program's own mailbox.
    add(PROGRAM('to-itself'), `To: ${from.address}`)
  }
  return [...signs.values()]
}

/**
 * Rules that match services used by both programs and people, and mail that mostly programs send.
 */
const SENT_BY_SERVICE = new Set([
  'bounce-address',
  'feedback-id',
  'sending-service',
  'program-mailer',
  'script-message-id',
  'precedence',
])
const OF_PROGRAM = new Set(['service-mailbox', 'program-subject'])

/** Words in newsletter names, and issue numbers in subjects, that also occur in personal mail. */
const NEWSLETTER_TITLES = [
  /\bnews ?letters?\b|\b(?:news|weekly|daily|deals|offers|bulletin|tips)$/i,
  /\bissue (?:no\.? ?|#)?\d|\bvol(?:ume)?\.? ?\d/i,
]

/** Combines two weak signs: typical content of a program or newsletter, and a bulk service. */
function joinSigns(
  signs: readonly KindSign[],
  titles: [name: string, subject: string],
): readonly KindSign[] {
  if (!signs.some(({ rule }) => SENT_BY_SERVICE.has(rule))) return signs
  const title = titles.find((text, index) => NEWSLETTER_TITLES[index]?.test(text))
  const joined = signs.map((sign) => {
    if (sign.rule === 'newsletter-mailbox') return { ...sign, says: 'unsubscribe' as const }
    const isOfProgram = OF_PROGRAM.has(sign.rule) && sign.says === 'program'
    return isOfProgram ? { ...sign, says: 'system' as const } : sign
  })
  if (title === undefined) return joined
  return [...joined, { rule: 'newsletter-words', says: 'unsubscribe', detail: title }]
}

/** The meaning of a sign on a list post or a reply, which people write. */
function saysOfPost(
  { rule, says }: NonNullable<Read>,
  { isReply, isPost }: { readonly isReply: boolean; readonly isPost: boolean },
): Says {
  if (isPost && says === 'host') return 'list'
  // Only a program that answers mail by itself sends replies from a script.
  if (isReply && says === 'script') return 'program'
  if (!isReply || says !== 'bulk') return says
  // A reply with low precedence comes from an old kind of mailing list.
  return rule === 'precedence' ? 'list' : 'program'
}

function isSame(one: Mailbox | undefined, other: Mailbox): boolean {
  return one?.address.toLowerCase() === other.address.toLowerCase()
}

export type Envelope = {
  /** The empty string is the null reverse-path. */
  readonly reversePath: string
  /** Addresses of the inboxes that received the message. */
  readonly recipients: readonly string[]
}

export type MailKind = {
  readonly category: MailCategory
  readonly reasons: readonly CategoryReason[]
  /** False if a program, a list or the recipient itself might receive the reply. */
  readonly autoReplyable: boolean
}

/** Classifies a message. A doubtful message is personal and gets no automatic reply. */
export function judgeKind(headers: ParsedHeaders, { reversePath, recipients }: Envelope): MailKind {
  const { kindSigns, from, to, cc, inReplyTo, subject, automaticReason } = headers
  const signs = [...kindSigns]
  const author = from?.address.toLowerCase() ?? ''
  const isReply = inReplyTo.length > 0
  const path = readPath(reversePath, { author, addressees: [...to, ...cc] })
  const isMade = path === null && namesRecipient(reversePath, recipients)
  const read = isMade ? PROGRAM('bounce-address') : path
  // Mail that the header identifies as list mail is not a newsletter, and neither is a reply.
  const isOfList = read === LIST_HOST && (isReply || signs.some(({ says }) => says === 'list'))
  if (read !== null && !signs.some(({ rule }) => rule === read.rule)) {
    const says = isOfList ? 'list' : read.says
    signs.push({ ...read, says, detail: `MAIL FROM: <${reversePath}>` })
  }
  if (author !== '' && recipients.some((address) => address.toLowerCase() === author)) {
    signs.push({ rule: 'own-address', says: 'program', detail: author })
  }
  const name = from?.name.slice(0, DETAIL_LENGTH_MAX) ?? ''
  const joined = isReply ? signs : joinSigns(signs, [name, subject.slice(0, DETAIL_LENGTH_MAX)])
  return {
    category: categoryOf(joined),
    reasons: joined.map(({ rule, detail }) => ({ rule, detail })),
    autoReplyable: signs.every(({ says }) => says === 'script') && automaticReason === null,
  }
}

/** Whether the path was made for a recipient (VERP): `news-7-ann=y.example@x.example`. */
function namesRecipient(reversePath: string, recipients: readonly string[]): boolean {
  const lower = reversePath.toLowerCase()
  // Gmail also writes the recipient into the path of personal mail that it forwards.
  if (lower.includes('+caf_=')) return false
  return recipients.some((address) => lower.includes(address.toLowerCase().replace('@', '=')))
}

type PathContext = {
  readonly author: string
  readonly addressees: readonly Mailbox[]
}

/** Whether the sender is an addressee but not the author, as in posts from LISTSERV. */
function isAddressee(path: string | null, { author, addressees }: PathContext): boolean {
  const sender = path?.toLowerCase()
  if (sender === author.toLowerCase()) return false
  return addressees.some(({ address }) => address.toLowerCase() === sender)
}

/** Reads the envelope's reverse-path or a field that repeats it. */
function readPath(path: string, { author, addressees }: PathContext): Read {
  if (path === '') return readNullPath(author)
  if (isPathOfList(path, addressees)) return LIST
  if (isListHostPath(path)) return LIST_HOST
  return isBounceAddress(path) ? PROGRAM('bounce-address') : null
}

/** Null reverse-paths are for notifications about mail (RFC 5321 §4.5.5). */
function readNullPath(author: string): NonNullable<Read> {
  const isSystem = /^(?:mailer-?daemon|postmaster)(?:@|$)/i.test(author)
  return { rule: 'null-sender', says: isSystem ? 'bounce' : 'system' }
}

function categoryOf(signs: readonly KindSign[]): MailCategory {
  const has = (says: Says) => signs.some((sign) => sign.says === says)
  if (has('virus')) return 'malicious'
  if (has('spam')) return 'spam'
  if (has('bounce')) return 'bounce'
  if (has('notification')) return 'automated'
  if (has('mailing')) return 'marketing'
  // List mail was written by a person unless its sender is a program.
  if (has('list')) return has('system') ? 'automated' : 'personal'
  if (has('unsubscribe') || has('host')) return 'marketing'
  return has('system') || has('bulk') ? 'automated' : 'personal'
}

const ALIAS_FORWARDER = /^x-(?:simplelogin|anonaddy|addy)-/

function titleOf(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}

function readField(name: string, value: string): Read {
  switch (name) {
    case 'auto-submitted':
      return readAutoSubmitted(value)
    case 'content-type':
      return readContentType(value)
    case 'precedence':
    case 'x-precedence':
      return readPrecedence(value)
    case 'list-unsubscribe':
      return readUnsubscribe(value)
    case 'list-unsubscribe-post':
      return { rule: 'list-unsubscribe-post', says: 'unsubscribe' }
    case 'list-post':
      return { rule: 'list', says: /mailto:/i.test(value) ? 'list' : 'program' }
    case 'feedback-id':
    case 'x-feedback-id':
      return readFeedbackId(name, value)
    case 'x-auto-response-suppress':
      return /^(?:none)?$/i.test(value) ? null : PROGRAM('auto-response-suppress')
    case 'x-loop':
      // The service adds this value to its users' own mail.
      return isHopMark(value) ? null : PROGRAM('loop-mark')
    case 'x-spam-flag':
      return /^yes\b/i.test(value) ? { rule: 'spam-flag', says: 'spam' } : null
    case 'x-virus-status':
      return /^infected\b/i.test(value) ? { rule: 'virus-status', says: 'virus' } : null
    case 'content-class':
      return /calendarmessage/i.test(value) ? PROGRAM('calendar') : null
    case 'x-mailer':
    case 'user-agent':
      return readMailer(value)
    case 'message-id':
      if (/^<?(?:lyris|listmanager)-/i.test(value)) return LIST_HOST
      if (PYTHON_MESSAGE_ID.test(value)) return { rule: 'script-message-id', says: 'script' }
      return PROGRAM_MESSAGE_ID.test(value) ? PROGRAM('program-mailer') : null
    default:
      return readOtherField(name, value)
  }
}

/** Whether an X-Loop value has the form that this service writes: 128 bits in base 32. */
export function isHopMark(value: string): boolean {
  return /^[0-9a-v]{26}$/.test(value)
}

/** RFC 3834 §5, RFC 5436. The value `auto-forwarded` means that a person wrote the mail. */
function readAutoSubmitted(value: string): Read {
  if (/^no\s*(?:[;(]|$)/i.test(value)) return null
  const says = /^auto-forwarded\b/i.test(value) ? 'program' : 'notification'
  return { rule: 'auto-submitted', says }
}

/** Report types of RFC 6522, RFC 3464, RFC 8098, RFC 5965 and RFC 8460. */
function readContentType(value: string): Read {
  if (/^text\/calendar\b/i.test(value)) return PROGRAM('calendar')
  if (!/^multipart\/report\b/i.test(value)) return null
  const isOfOther = /report-type="?(?:disposition-notification|feedback-report|tlsrpt)/i.test(value)
  return { rule: 'report', says: isOfOther ? 'notification' : 'bounce' }
}

function readPrecedence(value: string): Read {
  if (/^auto[_-]reply\b/i.test(value)) return { rule: 'auto-reply', says: 'notification' }
  if (/^list\b/i.test(value)) return { rule: 'precedence', says: 'list' }
  return /^(?:bulk|junk)\b/i.test(value) ? { rule: 'precedence', says: 'bulk' } : null
}

/** A mail address alone is weaker evidence, because discussion lists also have one. */
function readUnsubscribe(value: string): Read {
  const says = /https?:/i.test(value) ? 'unsubscribe' : 'host'
  return {
    rule: 'list-unsubscribe',
    says: says === 'host' && !value.includes('@') ? 'program' : says,
  }
}

/** Fields that repeat a reverse-path or name the address for reports. */
const NOTED_PATHS = new Set([
  'sender',
  'return-path',
  'errors-to',
  'envelope-from',
  'x-envelope-from',
  'x-envelope-sender',
  'x-return-path',
  'x-original-return-path',
])

function pathIn(value: string): string {
  return (/<([^<>]*)>/.exec(value)?.[1] ?? value).trim()
}

const LIST: Read = { rule: 'list', says: 'list' }
const LIST_HOST: Read = { rule: 'list-host', says: 'host' }

/** Gmail asks bulk senders for three words and the sender's name, separated by colons. */
function readFeedbackId(name: string, value: string): Read {
  // Some providers add such numbers to their users' personal mail.
  if (/:(?:user:proton|fastmail)$|@/i.test(value)) return null
  const words = value.split(':').filter((word) => word.trim() !== '')
  const isOfPeopleToo = /:(?:amazonses|hubspot)\s*$/i.test(value) || name !== 'feedback-id'
  if (/\b(?:newsletter|marketing|campaign|promo)/i.test(value)) {
    return { rule: 'feedback-id', says: 'unsubscribe' }
  }
  return words.length < 3 || isOfPeopleToo
    ? PROGRAM('feedback-id')
    : { rule: 'feedback-id', says: 'bulk' }
}

const PROGRAM_MAILER =
  /php|swiftmailer|symfony|nodemailer|javamail|smtpsend|easendmail|mime::lite|mime-tools|python|perl|ruby|\.net|cdosys|blat|sendemail|^mail v|autorespond|vacation|helpdesk|commerce|mail engine|customer\.io|monit|nagios|zabbix|backup|veeam|synology|qnap|ricoh|mfp|xerox|scan|sap netweaver|ticket|zendesk|otrs|trac|redmine|git-send-email|opendmarc|report|mailenable|james|qualtrics|front \(/i
const MAILING_PROGRAM =
  /mailchimp|sendinblue|brevo|cleverreach|inxmail|rapidmail|campaign|constant contact|mailerlite|activecampaign|phplist|mautic|sendy\b|acymailing|newsletter|emailvision|scnem|listmonk|mailpoet|getresponse|aweber|dotmailer|mailwizz|mailster|lyris|list ?manager|listserv maestro|sparklist|topica|accucast|worldmerge|group ?mail\b|mail(?:king|loop|up\b)|dmdelivery|responsys|exacttarget|strongmail|bronto|silverpop|eloqua|marketo|pardot|vertical ?response|icontact|sendblaster|mass ?mail|e-?mail ?marketing|maxbulk|oempro|interspire/i
const FEED_PROGRAM = /\brss|feed(?:2|burner|blitz)|newspipe|blogtrottr|rawdog/i

function readMailer(value: string): Read {
  if (FEED_PROGRAM.test(value)) return { rule: 'notification', says: 'notification' }
  if (MAILING_PROGRAM.test(value)) return { rule: 'mailing-program', says: 'mailing' }
  return PROGRAM_MAILER.test(value) ? PROGRAM('program-mailer') : null
}

/** Message-ID formats of mail libraries. Zimbra's webmail shares the format of JavaMail. */
const PROGRAM_MESSAGE_ID =
  /\.JavaMail\.(?!zimbra)|@swift\.generated>?$|^<?[0-9a-f]{12,}_[0-9a-f]+@.*\.mail>?$/i
/** The form of `email.utils.make_msgid` in Python. */
const PYTHON_MESSAGE_ID = /^<?\d{12,20}\.\d+\.\d{8,}@/

const LIST_FIELD =
  /^(?:mailing-list|list-subscribe|x-(?:beenthere|archive-position$|listar-|ecartis-|majordomo|ml-|mlserver$|mail-count$|quickml$|listname$|mailman-|google-group|mailing-?list|list-|sympa))/
/** Fields that hosts of newsletters and discussions add. */
const HOST_FIELD = /^x-(?:list-host|lyris|topica)(?:-|$)/
const NOTIFICATION_FIELD =
  /^(?:rt-ticket|tls-report-|pp-correlation-id|x-(?:(?:[a-z\d]+-)*(?:autogenerated|auto-?generated|autoresponder|auto-?reply|vacation)$|auto-?respon(?!se-suppress)|auto-?reply-|msexch-correlation-key|github-|gitlab-|jira-|bugzilla-|trac-|redmine-|gerrit-|jenkins-|instance-identity|discourse-|launchpad-|phabricator-|sentry-|servicenow-|fd-ticket|zendesk-|phpbb|asterisk-|cron-env|debian-pr-|svn-|rt-loop-|linkedin-|facebook|stripe-|amazon-mail-relay|notifications|atlassian-|dropbox-|sfdc-|(?:rss|feed|atom|blogtrottr)-))/
const MAILING_FIELD =
  /^x-(?:mc-user$|campaign|mailchimp|(?:list-?)?unsubscribe|opt-?out|newsletter|mailing-?id|bulk|broadcast|sfmc-|marketoid|pviq$|elq|pardot|cmail-|rext$|rim$|rpcampaign|gr-|phplist|mautic|mailpoet|acymailing|cleverreach|inx|mj-mid|mailin-campaign|sib-|emarsys|kmail|hubspot-campaign|roving|ctct|mailerlite|ck-bid|beehiiv|listmonk|csa-|listmember|ulpe|job$|mailgun-campaign)/
const SERVICE_FIELD =
  /^(?:bounces-to$|errors-to$|delivered-by-the-graces-of$|x-(?:sg-|smtpapi|ses-outgoing|mailgun-|pm-rcpt|mandrill-|msys|msfbl|report-abuse|report-spam|complaints-to|php-|antiabuse|ms-exchange-inbox-rules-loop|ms-exchange-generated-message-source|delivery-agent|helpscout|lsv-|hs-|hubspot))/

/** Words in the names of header fields that programs of any vendor add. */
const PROGRAM_WORD_IN_FIELD =
  /^x-(?:[a-z\d]+-)*(?:tickets?|case|campaigns?|newsletters?|subscribers?|recip-?id|delivery-id|entity-(?:ref-)?id|challenge|notice)(?:-|$)/

function readOtherField(name: string, value: string): Read {
  if (name.startsWith('list-')) return PROGRAM('list')
  if (HOST_FIELD.test(name)) return LIST_HOST
  if (MAILING_FIELD.test(name)) return { rule: 'mailing-program', says: 'mailing' }
  if (LIST_FIELD.test(name)) return LIST
  if (
    name === 'x-failed-recipients' ||
    /^x-ms-(?:embedded-report|exchange-message-is-ndr)$/.test(name)
  ) {
    return { rule: 'failed-recipients', says: 'bounce' }
  }
  if (NOTIFICATION_FIELD.test(name) || name === 'auto-reply') {
    return /^(?:no|false|0)$/i.test(value) ? null : { rule: 'notification', says: 'notification' }
  }
  if (SERVICE_FIELD.test(name) || PROGRAM_WORD_IN_FIELD.test(name)) {
    return PROGRAM('sending-service')
  }
  if (name.startsWith('x-microsoft-cdo-')) return PROGRAM('calendar')
  return name === 'delivered-to' && /^(?:mailing list|responder for) /i.test(value) ? LIST : null
}

/** Subject prefixes of automatic replies, in several languages. */
const AUTO_REPLY_SUBJECT =
  /^\s*(?:auto(?:matic)?[\s-]?(?:reply|response)|auto|out of office(?: auto-?reply)?|automatische antwort|abwesenheitsnotiz|abwesenheit|automatisch antwoord|afwezigheidsbericht|r[ée]ponse automatique|absence du bureau|respuesta autom[áa]tica|fuera de (?:la )?oficina|risposta automatica|fuori sede|resposta autom[áa]tica|odpowied[źz] automatyczna|automatyczna odpowied[źz]|autosvar|automaattinen vastaus|automatick[áa] odpov[ěe][ďd]|automatikus v[áa]lasz|r[ăa]spuns automat|otomatik yan[ıi]t|автоматический ответ|автоответ|автоматична відповідь|αυτόματη απάντηση|自動応答|自動返信|自动答复|自动回复|自動回覆|자동 회신|자동 응답|رد تلقائي|תשובה אוטומטית)\s*[:：]/iu
const AWAY_SUBJECT =
  /^\s*(?:.{1,80} is out of the office\.?(?:\s*\(.{0,60}\))?|yahoo! auto response|away from my mail)\s*$/i
const AWAY_PREFIX =
  /^\s*[[(【]?\s*(?:auto(?:mat(?:ic|ed))?[\s-]?(?:reply|response|answer)|ooo|out[\s-]of[\s-](?:the[\s-])?office(?: auto-?reply)?|vacation (?:reply|message|notice)|abwesenheits(?:assistent|meldung|nachricht)|(?:ich bin )?nicht im (?:b[üu]ro|haus)|automatische (?:r[üu]ckmeldung|nachricht)|(?:message|notification|avis) d['’]absence|absent(?:e|\(e\))? du bureau|respuesta autom[áa]tica|ausente de la oficina|mensaje de ausencia|messaggio automatico|fuori ufficio|buiten kantoor|aus[êe]ncia tempor[áa]ria|ausente do escrit[óo]rio|fora do escrit[óo]rio|poza biurem|fr[åa]nvaromeddelande|poissaoloviesti|lomavastaus|mimo kancel[áa][řr]|h[áa]zon k[íi]v[üu]l|ofis d[ıi][şs][ıi]nda|вне офиса|不在(?:通知|のお知らせ)|自動返信|外出自动回复|自动回复|부재\s?중(?: 자동 회신)?|خارج المكتب|מחוץ למשרד)\s*(?:[\])】]|[:：]|\s(?:re|aw|sv|tr|rif)\s?:)/iu
/** Subject prefixes of out-of-office systems and of people who announce an absence. */
const ABSENCE_PREFIX =
  /^\s*(?:out[\s-]of[\s-](?:the[\s-])?office|vacation|away|abwesend|absente?|absence|ausente|ausencia|respuesta autom[áa]tica|assente|assenza|afwezig(?:heid)?|niet aanwezig|aus[êe]ncia|nieobecno[śs][ćc]|fr[åa]nvaro|fr[åa]nvarande|frav[æa]r(?:ende)?|ikke til stede|poissa(?:olo)?|nep[řr][íi]tomnost|нет на (?:работе|месте)|отсутствие|不在|外出|休暇|휴가)\s*(?:[:：]|-\s)/iu
/**
 * Read receipts, replies to invitations, and subjects of shops, ticket systems and social networks;
 * people may write them too.
 */
const PROGRAM_SUBJECT =
  /^\s*(?:read(?: receipt)?|return receipt|delivery receipt|opened|new time proposed|gelesen|lu|le[íi]d[oa]|letto|lida|gelezen|not read|accepted|declined|tentative(?:ly accepted)?|cancell?ed|zugesagt|abgelehnt|mit vorbehalt|accept[ée]|refus[ée]|aceptad[oa]|rechazad[oa]|accettato|rifiutato)\s?:|^\s*(?:\[[^\]]{0,30}[#!:][^\]]{0,10}\d{2,}[^\]]{0,10}\]|\[[^\]]{0,20}\d{4,}\]|##.{1,20}##)|\b(?:ticket|request|case|inquiry) (?:id )?(?:has been|was|is) (?:received|created|opened|logged|registered|updated|resolved|closed)|\bwe(?: have|['’]ve)? received your (?:request|message|email|order|payment)|\b(?:order|booking|payment|reservation) (?:confirmation|received|confirmed)\b(?=\s*(?:[#:–-]|for order|\d|$))|^\s*(?:your )?(?:receipt|invoice) (?:from |for |#|no\.?\s?)?\S*$|\b(?:mentioned|tagged|invited|followed|poked) you\b|\bsent you (?:a|an) \w+|\bstarted following you\b|\baccepted your (?:invitation|request)\b|^\s*auto[\s-]?(?:response|reply) from\b|^\s*thank you for (?:contacting|your (?:message|inquiry|order|email))\b|^\s*vielen dank f[üu]r ihre (?:anfrage|nachricht|bestellung|e-?mail)\b|^\s*(?:eingangs|empfangs)best[äa]tigung\b|\b(?:parcel|package|order|shipment) (?:is on its way|has (?:been )?shipped)\b|\b(?:quarantine|spam) (?:digest|report|summary)\b|\b(?:authentification requise|verification required)\b|^\s*abwesenheits(?:assistent|meldung|nachricht|notiz)\b/i
/** Codes, confirmations of addresses and orders, and account alerts, in several languages. */
const SERVICE_SUBJECT =
  /\b(?:verification|security|confirmation|log-?in|sign-?in|one-time|activation) (?:code|pin|link)\b|\b(?:verify|confirm) your (?:e-?mail|account|identity|address|device|subscription|registration|sign-?up)|\b(?:booking|order|reservation|appointment|payment|subscription|registration) (?:is|has been|was) (?:confirmed|received|cancell?ed|shipped|placed)\b|^\s*your (?:\p{L}+ ){0,2}(?:order|trip|ride|delivery|statement|bill|receipt|subscription|password|account|payment|booking|reservation|package|parcel)\b|\bmeeting reminder\b|^\s*reminder:|\bincident (?:resolved|update|report)\b|\bihre? (?:\S+ )?(?:paket|sendung|bestellung|buchung)\b|\bvotre (?:commande|colis)\b|\b(?:tu|su|seu) pedido\b|\bil tuo ordine\b|\b(?:je|uw) bestelling\b|\breset your password|\bpassword (?:reset|changed)\b|\bnew (?:sign-?in|log-?in) (?:from|to|on)\b|^\s*security alert\b|(?:best[äa]tigungs|sicherheits|verifizierungs|anmelde)code|passwort zur[üu]cksetzen|best[äa]tigen? (?:sie )?(?:ihre|deine) (?:e-?mail|anmeldung|registrierung)|(?:bestell|auftrags|versand|buchungs|reservierungs|termin|zahlungs)best[äa]tigung|code de (?:v[ée]rification|confirmation|s[ée]curit[ée])|confirmation de (?:votre )?commande|confirmez votre (?:adresse|compte|inscription|e-?mail)|r[ée]initialis\w* (?:de )?votre mot de passe|c[óo]digo de (?:verifica\w+|seguridad|seguran[çc]a|confirma\w+)|confirmaci[óo]n de (?:tu |su )?pedido|confirma[çc][ãa]o d[eo] (?:seu )?pedido|confirma tu (?:correo|cuenta)|codice di (?:verifica|conferma|sicurezza)|conferma (?:d['’]|dell['’]|di )?ordine|verificatiecode|(?:order|bestel)bevestiging|kod weryfikacyjny|potwierdzenie zam[óo]wienia|код подтверждения|подтверждени\S* (?:заказа|регистрации)|do[ğg]rulama kodu|orderbekr[äa]ftelse|ordrebekr[æe]ftelse|tilausvahvistus|vahvistuskoodi|ov[ěe][řr]ovac[íi] k[óo]d|potvrzen[íi] objedn[áa]vky|認証(?:コード|番号)|確認コード|ご注文(?:確認|ありがとう)|验证码|驗證碼|인증\s?(?:번호|코드)|رمز التحقق|קוד אימות/iu
const MACHINE_SUBJECT =
  /^\s*(?:(?:\[preview\] )?report[ -]domain:|complaint about message from|cron <|anacron job|\*\* (?:problem|recovery|acknowledgement)|\[(?:firing|resolved|problem|recovery|success|failed|warning|pbx|fail2ban|django|monitor|alerting)\b|problem:|resolved:|logwatch for|smart error|degradedarray event|monit alert|jenkins build|build (?:failed|succeeded)|bacula:|fax from|message from "rnp|svn commit:|\[[^\]]{1,40}\] comment:|\[[^\]]{1,60}\] your site has|majordomo results|output of your job)/i

/** Complete subjects of bounces. A person who writes about a bounce adds words. */
const BOUNCE_SUBJECT =
  /^\s*(?:failure notice|undeliver(?:able|ed) (?:message|mail)|undelivered mail returned to sender|returned mail: .{0,80}|mail delivery (?:failed|failure)(?:: returning message to sender)?|(?:message |permanent )?delivery fail(?:ure|ed)|non-?deliverable (?:mail|message)|delivery status notification\b.{0,40})\s*$/i

/** Subjects that postmasters use to report a failure and people use to write about one. */
const FAILURE_SUBJECT =
  /undeliver|unzustellbar|nicht zugestellt|\bdeliver\w* (?:has )?(?:fail|status|notif|delay|problem|error)|\breturned (?:mail|message)|\b(?:mail|message)\b.{0,20}\b(?:delayed|returned|not delivered)|non (?:remis|distribu)|no se (?:ha )?pud|devuelt|n[aã]o entregue|mancat[ao] (?:consegna|recapito)|onbestelbaar|недоставлен|не доставлен|配信不能|退信/i

function readSubject(subject: string, isReply: boolean): Read {
  if (BOUNCE_SUBJECT.test(subject)) return { rule: 'bounce-subject', says: 'bounce' }
  if ([AUTO_REPLY_SUBJECT, AWAY_SUBJECT, AWAY_PREFIX].some((pattern) => pattern.test(subject))) {
    return { rule: 'auto-reply-subject', says: 'notification' }
  }
  if (MACHINE_SUBJECT.test(subject)) return { rule: 'machine-subject', says: 'notification' }
  if (ABSENCE_PREFIX.test(subject)) {
    return isReply
      ? { rule: 'auto-reply-subject', says: 'notification' }
      : PROGRAM('program-subject')
  }
  const isOfProgram = [PROGRAM_SUBJECT, SERVICE_SUBJECT].some((pattern) => pattern.test(subject))
  return isOfProgram ? PROGRAM('program-subject') : null
}
