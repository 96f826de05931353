/**
 * `hard`: no such address. `full`: the mailbox is full. `policy`: sender or message are unwanted.
 */
export type BounceClass = 'hard' | 'soft' | 'policy' | 'full'

export type Failure = {
  readonly enhancedCode: string | null
  readonly replyCode: number | null
  /** The remote server's words, or else the words of the report. */
  readonly text: string
  /** `data`: refused after the recipient was accepted. `broken`: the connection failed. */
  readonly stage: 'data' | 'broken' | 'other'
}

export function stageOf(words: string): Failure['stage'] {
  if (BROKEN.test(words)) return 'broken'
  return AFTER_DATA.test(words) ? 'data' : 'other'
}

const BROKEN =
  /\bconnection (?:was |has been )?(?:reset|lost|closed|dropped|broken|aborted|terminated|timed out)\b|\blost connection\b|\bbroken pipe\b|\breset by peer\b|\bread error\b|\btimed out\b/i

const AFTER_DATA =
  /\bin (?:reply|response) to (?:the )?(?:end of )?(?:message |mail )?data\b|\b(?:after|at) (?:the )?(?:end of )?(?:message |mail )?data\b|>>> ?(?:data\b|\.\s)|\bsmtp command:? ?data\b|\bsent (?:the )?message body/i

/**
 * Servers combine wrong codes with correct words, so the words take precedence. An address is
 * `hard` only if it certainly does not exist. Never throws.
 */
export function classifyBounce(failure: Failure): BounceClass {
  const { enhancedCode, replyCode } = failure
  const text = joinReply(failure.text, replyCode)
  const detail = enhancedCode?.slice(1) ?? ''
  if (saysAny(FULL, text)) return 'full'
  if (detail.startsWith('.7.')) return 'policy'
  if (AGENT_TROUBLE.test(text)) return 'soft'
  if (isDeadBeyondPolicy(failure)) return 'hard'
  if (SENDER_CODES.has(detail) || saysAny(POLICY, text)) return 'policy'
  if (!detail.startsWith('.1.') && CLOSED_FOR_NOW.test(text)) return 'soft'
  const isPermanent = replyCode === null ? !enhancedCode?.startsWith('4') : replyCode >= 500
  const isDead = saysDead(failure, text) && !isRefusedAsContent(failure)
  // A permanent refusal may be reported together with an earlier deferral.
  if (isDead && (replyCode ?? 0) >= 500 && !saysAny(COME_AGAIN, text)) return 'hard'
  if (!isPermanent || saysAny(COME_AGAIN, text) || saysAny(PASSING, text)) {
    return detail === '.2.2' ? 'full' : 'soft'
  }
  if (isDead || (replyCode !== null && DEAD_REPLIES.has(replyCode))) return 'hard'
  if (detail === '.2.2') return 'full'
  if (enhancedCode === '5.1.2' && failure.stage === 'broken') return 'soft'
  return enhancedCode !== null && DEAD_CODES.has(enhancedCode) ? 'hard' : 'soft'
}

/** Joins the lines of a reply, without the code that each line repeats. */
function joinReply(text: string, replyCode: number | null): string {
  const code = replyCode === null ? /$^/ : new RegExp(`\\b${replyCode}[- ]`)
  const [head = '', ...lines] = text.split(code)
  const rest = lines.map((line) => line.replace(/^[245](?:\.\d{1,3}){2}\s/, ''))
  return (lines.length < 2 ? text : `${head}${replyCode} ${rest.join(' ')}`).replace(/\s+/g, ' ')
}

/** Wordings of a local delivery program that failed; they override all codes. */
const AGENT_TROUBLE =
  /\b(?:couldn[’']t|could not|can[’']t|cannot|can not|unable to) (?:create|open|write|lock|append)\b/i

/** Codes about the sender's address (RFC 3463 §3.2). */
const SENDER_CODES = new Set(['.1.7', '.1.8'])

/** Exchange Online refuses unknown recipients in these words. */
function isDeadBeyondPolicy({ enhancedCode, text }: Failure): boolean {
  return enhancedCode === '5.4.1' && /\brecipient address rejected: access denied/i.test(text)
}

/** Whether the words mean that the recipient or its domain does not exist. */
function saysDead({ stage }: Failure, text: string): boolean {
  if (saysDeadAddress(text)) return true
  // A host that accepted a connection exists.
  return stage !== 'broken' && saysAny(DEAD_DOMAIN, text) && !ABOUT_CLIENT.test(text)
}

/** Wordings for 5.1.2 and 5.1.10, and those of systems that look up users in a directory. */
const DEAD_DOMAIN = [
  /\bno ?such ?(?:user|domain|host)\b/i,
  /\b(?:unknown|invalid|illegal) (?:host|domain|e-?mail address|final delivery userid)\b|\b(?:host|domain) (?:name )?(?:is )?(?:unknown|not found)\b/i,
  /\b(?:host|domain|domain name) [\w.-]{0,255} ?(?:not found|(?:does not|doesn[’']t) exist)/i,
  /\b(?:no|couldn[’']t find (?:a|any)) (?:mx|mail exchanger)\b.{0,30}\b(?:found|record|address)/i,
  /\b(?:no smtp service|null mx|(?:does not accept (?:any )?|accepts no )(?:e-?)?mail(?! from))\b/i,
  /\b(?:unable to|could ?n[o’']t|could not|cannot|can[’']t) (?:find|locate|resolve|look up) (?:any |a |the )?(?:host|domain)\b/i,
  /\b(?:host|domain)\b.{0,80}\b(?:could ?n[o’']t|could not|cannot|can[’']t) be (?:found|resolved)\b/i,
  /\bdomain\b.{0,80}\b(?:not reachable|unreachable)\b|\b(?:unreachable|unroutable) (?:mail )?domain\b/i,
  /\bno a(?:aaa)? (?:or|and) mx records?\b/i,
  /\bhas no (?:valid |usable )?(?:mx|mail exchangers?|mail servers?)\b|\bmx records? .{0,30}\bnon-?existent hosts?\b/i,
  /\bname or service not known\b|\bNXDOMAIN\b/i,
  /\bunrouteable (?:mail )?domain\b|\bunrouteable mail address\b/i,
  /\buser(?: name)?\b.{0,60}\bnot listed in\b.{0,30}\b(?:directory|address book)/i,
  /\b(?:user|recipient)\b.{0,20}\b(?:doesn[’']t|does not) have an? .{0,60}\baccount\b/i,
  /\b(?:user|address)\b.{0,20}\bno longer (?:on|at|with|here|exists?|valid|available|active|in use)\b/i,
  /\bnot our user\b/i,
]

/** Words that show that DEAD_DOMAIN may refer to the client: its address, name or sender domain. */
const ABOUT_CLIENT =
  /\b(?:unknown|invalid|illegal) (?:host|domain)(?: name)?:? \[?\d|\breverse\b|\bhelo\b|\behlo\b|\bdynamic\b|\bclient\b|\b(?:for|of) (?:the |your )?(?:domain of|sender)\b|\bdomain of\b(?! the recipient)|\bsender(?:'s)? (?:domain|address|host)\b|\byour (?:domain|host|address|server)\b/i

/**
 * If a server accepts the recipient and then refuses the message with "unknown user", it hides a
 * filter. Japanese carriers do this, and one of them does not mention a user. An explicit enhanced
 * code is trusted.
 */
function isRefusedAsContent({ stage, enhancedCode, text }: Failure): boolean {
  if (enhancedCode !== null && DEAD_CODES.has(enhancedCode)) return false
  // Matches at the start, or after the arrow with which an intermediate server quotes another.
  if (/(?:^|->)\s{0,4}\d{3} ?: ?user unknown/i.test(text)) return true
  return stage === 'data' && /\b(?:unknown user|user unknown|no such user)\b/i.test(text)
}

function saysAny(wordings: readonly RegExp[], text: string): boolean {
  return wordings.some((wording) => wording.test(text))
}

const FULL = [
  /\b(?:mail ?box|mail ?folder|inbox|mail ?drop|maildir|account|user|recipient|disk|storage|quota)\b[^.;]{0,60}\bfull\b/i,
  /\bfull\b.{0,20}\bmail ?box/i,
  /\b(?:over|exceed(?:s|ed|ing|)|out of|beyond|reached|insufficient|not enough|no)\b.{0,50}\b(?:quota|disk space|disk storage|storage space|system storage|mailbox space|space left|storage (?:allocation|limit)|mailbox (?:size )?limit)/i,
  /\b(?:quota|mailbox size|mailbox limit|storage (?:limit|allocation))\b.{0,40}\b(?:exceed|violat|reached|over|full)/i,
  /\b(?:over ?quota|quota ?exceeded|mailboxfull|overquota|disk ?full)\b/i,
  /\b(?:number|amount|size) of (?:the )?messages? in (?:the )?recipient's mailbox exceed/i,
  /\bmailbox (?:has )?exceed/i,
]

/** Words for a mailbox that is closed but may reopen. */
const CLOSED_FOR_NOW =
  /\b(?:suspended|inactive|dormant|locked|frozen|on hold|(?:temporarily|currently) (?:disabled|deactivated|closed)|(?:disabled|deactivated|closed) (?:temporarily|for now))\b/i

const POLICY = [
  /\b(?:spam|unsolicited|junk ?mail|bulk (?:e-?)?mail|ube|uce|virus|malware|phish\w*|infected|trojan|worm)\b/i,
  /\b(?:black|block|deny|reject)[- ]?list/i,
  /\b(?:spamhaus|spamcop|barracuda ?central|sorbs|dnsbl|rbl|proofpoint|cloudmark|senderscore|senderbase|trustedsource|uceprotect|backscatterer)\b/i,
  /\b(?:spf|dkim|dmarc|reverse dns|ptr|rdns|sender id|sender policy)\b/i,
  /\b(?:poor|bad|low) reputation|\breputation\b/i,
  /\bopen (?:relay|proxy)\b/i,
  /\b(?:relay(?:ing)?|relay access|access|permission|connection|service|client host|sender)\b.{0,30}\b(?:denied|not (?:permitted|allowed)|refused by policy|prohibited|forbidden|blocked|rejected)/i,
  /\b(?:do|does|will) not relay\b|\b(?:don|won)[’']t relay\b|\bwill not accept delivery of this\b/i,
  /\b(?:violat\w+|against|due to|by|because of|for) (?:\w+ ){0,3}polic(?:y|ies)\b/i,
  /\bpolicy (?:violation|reasons?|rejection|restriction)/i,
  /\brecipient(?:'s)? preferences?\b|\brefused (?:due|because)\b/i,
  /\bsender (?:address )?verif(?:y|ication) failed|\bverification failed for\b/i,
  /\b(?:domain of )?sender(?:'s)? (?:address|domain)\b.{0,80}\b(?:rejected|refused|invalid|unknown|does not exist|not found|not verified)/i,
  /\bblocked (?:by|due|because|using|for)\b/i,
  /\b(?:message|mail|e-?mail|content|attachment|your (?:host|ip|domain|address|server))\b.{0,40}\b(?:blocked|banned|rejected (?:due|because|by (?:the )?(?:content|spam|filter|policy)))/i,
]

const COME_AGAIN = [
  // "Check the address and try again" asks for another address, not for another attempt.
  /\b(?:temporar(?:y|ily)|(?<!\bcheck\b.{0,60} and )(?:try|retry) (?:again|later)|greylist\w*|resources? unavailable)\b/i,
  /\btoo many\b|\bat a rate\b|\brate[- ]?limit|\bthrottl/i,
]

const PASSING = [/\b(?:deferred|timed? ?out|expired|connection refused|not responding)\b/i]

type Refusal = {
  readonly code: number
  /** Enhanced code (RFC 3463); null if the server sent none. */
  readonly enhanced: string | null
  readonly text: string
}

/**
 * Codes for a missing mailbox or system, an invalid address, a mailbox that moved without a
 * forwarding address, null MX (RFC 7505), and a permanently disabled mailbox.
 */
const DEAD_CODES: ReadonlySet<string> = new Set([
  '5.1.1',
  '5.1.2',
  '5.1.3',
  '5.1.6',
  '5.1.10',
  '5.2.1',
])

/** A host or domain that accepts no mail (RFC 7504), or a recipient who moved (RFC 5321 §4.2.3). */
const DEAD_REPLIES: ReadonlySet<number> = new Set([521, 551, 556])

/** Enhanced codes without information, for which the words decide. */
const VAGUE = new Set(['5.0.0', '5.1.0', '5.3.0', '5.5.0', '5.5.1'])

/** Words for a recipient in languages other than English, and words for "does not exist". */
const NAMES_OF_RECIPIENT =
  'destinat[aá]ri[oa]|usu[aá]rio|utente|buz[oó]n|casella|direcci[oó]n|indirizzo|endere[cç]o|empf(?:ä|ae?)nger|postfach|adresse|benutzer|destinataire|utilisateur|bo[iî]te|adres|gebruiker|ontvanger|u[zż]ytkownik|odbiorca|пользовател|адрес|получател|ящик'
const IS_UNKNOWN =
  "n[oã]o? existe|non esiste|inexistente|existiert nicht|nicht (?:gefunden|vorhanden|bekannt)|unbekannt|n['’]existe pas|introuvable|inconnu|bestaat niet|onbekend|niet gevonden|non (?:è stat[oa] )?trovat|no (?:se ha )?encontrad|não (?:foi )?encontrad|desconocid|desconhecid|sconosciut|nie istnieje|не (?:найден|существует)"
/** Matches a character that does not begin a word for the sender or a domain. */
const BUT_SENDER =
  '(?:(?!absender|exp[eé]diteur|remitente|remetente|mittente|afzender|nadawc|отправител|dom[aäeéií]n).)'

// Excludes words that may refer to the sender or the client: a bare "account"; unknown hosts,
// domains and mail exchangers; "valid recipients", which servers report missing after any refusal;
// and "mail not accepted".
const DEAD_WORDINGS = [
  /\bno such (?:user|recipient|mailbox|address|person)/i,
  /\b(?:user|recipient|mailbox|address|addressee)(?: address)? (?:is )?(?:unknown|not found|not exist|invalid)/i,
  /\brecipient(?: name| address)? (?:is )?not recognized/i,
  /\b(?:unknown|invalid|non-?existent|nonexistent) (?:user|recipient|mailbox|address|local[- ]part)/i,
  /\b(?:user|recipient|mailbox|address)\b.{0,60}\b(?:does ?n[o']t|does not|doesn't|did not) exist/i,
  /\b(?:user|mailbox|recipient)(?: [^\s@]{1,64}@[^\s@]{1,255})? (?:has been|is|was) (?:disabled|deactivated|deleted|closed|discontinued)\s{0,4}(?:$|[.,;:!()])/i,
  /\byou tried to reach\b.{0,60}\b(?:does ?n[o’']t|does not) exist/i,
  /\b(?:recipient|mailbox)\b.{0,20}\bno longer (?:on|at|with|here|exists?|valid|available|active|in use)\b/i,
  /\bno mailbox (?:here )?(?:by that name|for)\b/i,
  /\bnot a (?:valid|known) (?:mailbox|recipient)\b|\bwas ?n[o’']t found at\b|\bwas not found at\b/i,
  /\bunrouteable address/i,
  /\b(?:(?<!\bip )address|recipient|mailbox|user)\b(?:(?!\b(?:host|domain|dns|ptr|mx|record|file)\b).){0,60}(?:\bnot|n[’']t) (?:be )?(?:found|located)\b/i,
  // The wording of appliances for an unknown recipient.
  /#5\.1\.0 address rejected\b/i,
  new RegExp(`(?:${NAMES_OF_RECIPIENT})${BUT_SENDER}{0,50}(?:${IS_UNKNOWN})`, 'i'),
  new RegExp(
    `\\b(?:unbekannte[rs]?|keine? solche[rs]?|onbekende) (?:mailbox|${NAMES_OF_RECIPIENT})`,
    'i',
  ),
  /\bno se (?:ha encontrado|encontró) la dirección\b/i,
  /(?:用户|用戶|收件人|邮箱|郵箱|地址)不存在|(?:ユーザー?|宛先|アドレス).{0,20}(?:存在しません|見つかりません)|사용자.{0,10}존재하지/,
]

/**
 * Words that show that the address is valid but the sender is refused or space is short. "your"
 * refers to the sending client.
 */
const OTHER_WORDINGS =
  /\b(?:full|quota|spam|blocked|blacklist|blocklist|denied|policy|reputation|rejected due|too many|try again|temporar|authenticat|(?:your|sender|helo|ehlo)\b)/i

export function isDeadAddress({ code, enhanced, text }: Refusal): boolean {
  if (code < 500 || code > 599) return false
  const words = joinReply(text, code)
  const isClosed = CLOSED_FOR_NOW.test(words)
  if (enhanced !== null && !VAGUE.has(enhanced)) {
    return DEAD_CODES.has(enhanced) && !(isClosed && enhanced === '5.2.1')
  }
  if (isClosed || OTHER_WORDINGS.test(words)) return false
  return DEAD_REPLIES.has(code) || saysDeadAddress(words)
}

/** Whether the words mean that the address does not exist, and cannot refer to the sender. */
export function saysDeadAddress(text: string): boolean {
  return DEAD_WORDINGS.some((wording) => wording.test(text))
}
