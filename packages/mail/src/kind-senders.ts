// Recognizes kinds of mail by sender addresses and names: mailboxes of mail systems, programs and
// list hosts, and the many wordings of "do not reply".

import type { KindSign, Mailbox } from '#mime/parsed-message.ts'

export type Read = { readonly rule: string; readonly says: KindSign['says'] } | null

export const PROGRAM = (rule: string): Read => ({ rule, says: 'program' })

const NO_REPLY =
  /(?:^|[-_.+=])(?:no[-_.]?re?ply|do[-_.]?not[-_.]?re?ply|dont[-_.]?reply|unattended|autoreply|auto[-_.]?(?:reply|confirm|response|mailer))(?:[-_.+=\d]|$)|(?:noreply|donotreply)$/
const SYSTEM_NAME =
  /^(?:mailer[-_.]?daemon|mdaemon|post[-_.]?master|bounces?|notify|notifications?|[a-z]+[-_.]notifications?|alerts?|alerting|alertmanager|mailer|robot|daemon|root|cron|anacron|nobody|www-data|apache|nginx|nagios|icinga2?|zabbix|monit|monitoring|logwatch|fail2ban|jenkins|jira|confluence|gitlab|gerrit|trac|redmine|[a-z]+-daemon|listserv|majordomo|sympa|.+-(?:request|owner|bounces)|owner-.+|opendmarc|dmarc.*|asterisk|bacula|veeam|sap[-_]wf.*|rss|rss2email|rss-?feeds?|feeds?|feed2(?:imap|mail)|grafana|prtg|uptime-?robot|prometheus|datadog|munin|netdata|librenms|centreon|cacti|check-?mk|logcheck|arpwatch|apticron|smartd|unattended-upgrades|rkhunter|tripwire|ossec|wazuh|teamcity|buildbot|auto(?:mat(?:ed|ic|isch|ique|ico)?|mailer|mail|responder)|system[-_.]?(?:messages?|mail|notices?))$/
/** Subdomains named for mail that cannot be answered. */
const NO_REPLY_DOMAIN = /[@.](?:no-?reply|do-?not-?reply)\.[^.]+\./
/** "Do not reply" and "no answer" without separators, in several languages. */
const NO_REPLY_WORDS =
  /^(?:(?:donot|dont)(?:reply|respond|answer)|no(?:answer|response|respond|reponse|replies|contest)|nepas?re(?:pond|ply)|pasdereponse|sansreponse|(?:bitte)?nicht(?:be)?antwort|keineantwort|sinrespuesta|naorespon|semresposta|n[eo][nr]*rispond|antwortnicht|nessunarisposta|geenantwoord|geenreply|niet(?:be)?antwoord|nietreager|svara?(?:inte|ej)|ejsvar|inge[nt]svar|ikke(?:be)?svar|(?:be)?svarikke|eivasta|alavasta|nieodpow|(?:bez|brak)odpow|prosimynieodp|neodpov|neodgov|nuraspund|fararaspuns|nevalasz|(?:yanit|cevap)(?:lama|yok)|neotvec|bezotvet|otvetne|(?:un|not)monitored|unattended|nevidpov|minapant|janganbalas|khongtraloi|dungtraloi|mittevast|neatbild|neatsak|неотвеч|невідпов|μηναπαντ|henshinfuka)/

/** Whether the local part of an address indicates that replies are not read. */
export function isNoReplyName(localPart: string): boolean {
  const local = localPart.slice(0, LOCAL_PART_LENGTH_MAX).toLowerCase()
  if (NO_REPLY.test(local)) return true
  const plain = local
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replaceAll('ı', 'i')
    .replaceAll('ł', 'l')
  const words = plain.split(/[-_.+=]/).slice(0, LOCAL_PART_WORDS_MAX)
  return words.some((_, index) => NO_REPLY_WORDS.test(words.slice(index).join('')))
}

/** RFC 5321 §4.5.3.1.1 requires support for 64 octets, but senders use more. */
const LOCAL_PART_LENGTH_MAX = 256
const LOCAL_PART_WORDS_MAX = 20

/** Mailboxes that programs often send from, and people sometimes use. */
const SERVICE_NAME =
  /^(?:reports?|service|receipts?|orders?|shop|store|invoices?|updates?|digest|members?|accounts?|onboarding|scanner|scan|fax|nas|app|ci|builds?|backups?|system|webmaster|wordpress|forum|bookings?|quarantine|feedback|survey|expiry|store-news|\+\d{6,})$/

/** Newsletter words that also occur in people's mailboxes. */
const NEWSLETTER_NAME =
  /(?:^|[-_.])(?:news|news-?letters?|newsflash|promos?|promotions?|offers|deals|specials|marketing|tips|weekly|daily|bulletins?)(?:[-_.]|$)/
const NEWSLETTER_DOMAIN = /[@.](?:news|promo|offers|deals|marketing)\.[^.]+\./
/** Mailboxes and domains that only newsletters use. */
const NEWSLETTER_ADDRESS = /^newsletters?@|@(?:[^@]{1,200}\.)?(?:newsletters?|mailings?)\.[^.@]+\./

/** Words that occur within the longer names of program mailboxes. */
const SERVICE_WORD =
  /^(?:tickets?|ticketing|service|receipts?|orders?|bookings?|meetings?|status|.*(?:best(?:ae|a)tigung|confirmation|confirmacion|conferma|bevestiging)|helpdesk|servicedesk|service-desk|glpi|otrs|payments?|invoicing|confirmations?|notices?|reminders?|reply|mailrobot|(?:help|chat|mail|news|alert|build|deploy|support|pin)bot|letters?|mailings?|messenger|mastodon)$/
const SERVICE_DOMAIN =
  /^(?:.+\.)?(?:notify|notifications?|alerts?|updates?|em|mailer|messaging|bounces?)\.[^.]+\.[^.]+/

/** A plus tag that a program generated for one conversation. */
export const TOKEN_TAG = /\+(?=[^@]*\d)[a-z\d_-]{16,}@/i

/** `address` may be a bare local part. */
export function readAddress(address: string): Read {
  const lower = address.trim().toLowerCase()
  const at = lower.lastIndexOf('@')
  const local = at < 0 ? lower : lower.slice(0, at)
  if (isNoReplyName(local) || NO_REPLY_DOMAIN.test(lower.slice(at))) {
    return { rule: 'no-reply', says: 'system' }
  }
  // Mail systems send only reports about mail.
  if (/^mailer[-_.]?daemon$|^microsoftexchange[\da-f]{8,}$/.test(local))
    return { rule: 'system-sender', says: 'bounce' }
  // The text after a plus sign is a tag.
  const name = local.replace(/(?<=.)\+.*$/, '')
  if (SYSTEM_NAME.test(name)) return { rule: 'system-sender', says: 'system' }
  if (LEAVING_NAME.test(lower) || NEWSLETTER_ADDRESS.test(lower))
    return { rule: 'list-host', says: 'host' }
  if (NEWSLETTER_NAME.test(name) || NEWSLETTER_DOMAIN.test(lower.slice(at)))
    return PROGRAM('newsletter-mailbox')
  const isService =
    SERVICE_NAME.test(name) || name.split(/[-_.]/).some((word) => SERVICE_WORD.test(word))
  return isService || SERVICE_DOMAIN.test(lower.slice(at + 1)) ? PROGRAM('service-mailbox') : null
}

const BOUNCE_NAME =
  /(?:^|[-_.+=])(?:bounces?|returns?|errors|verp|owner|mailings?|msprvs1|bnc|canned\.response)(?:[-_.+=\d]|$)|^(?:nobody|www-data|apache|root|noreply|no-reply|debbugs)$|^sentto-|[-_]000000$/
const BOUNCE_DOMAIN = /(?:^|\.)(?:[a-z-]*bounces?|bnc\d*|bounce-[a-z]+)\./

/** Whether a reverse-path was made to receive reports about a program's mail. */
export function isBounceAddress(reversePath: string): boolean {
  const lower = reversePath.toLowerCase()
  const at = lower.lastIndexOf('@')
  return at > 0 && (BOUNCE_NAME.test(lower.slice(0, at)) || BOUNCE_DOMAIN.test(lower.slice(at + 1)))
}

/** List host addresses for leaving a list: `leave-garden-1234@`, `garden-unsubscribe@`. */
const LEAVING_NAME =
  /^(?:leave|unsub(?:scribe)?|opt-?out)[-_.+=]|^[^@]{1,200}[-_.](?:unsubscribe|leave)@/

/**
 * Whether a reverse-path belongs to a newsletter at a list host: a list name followed by a
 * recipient number.
 */
export function isListHostPath(path: string): boolean {
  const lower = path.toLowerCase()
  const isOfHost = /^bounce-[a-z][\w.-]{0,100}-\d{4,}[a-z]?@|@newsletters?\./.test(lower)
  return isOfHost || LEAVING_NAME.test(lower)
}

/** Affixes that list software adds to a list's name to form the sender of its posts. */
const AROUND_LIST_NAME =
  /^(?:owner|bounces?|errors)[-.]|[-+.](?:bounces?|owner|request|admin|errors|return|outgoing)(?:[-+.=].*)?$|-\d{4,}[a-z]?$/g

/**
 * Whether the path belongs to a list owner, or to a list that the mail is addressed to, such as
 * `garden-bounce@` for mail to `garden@`.
 */
export function isPathOfList(path: string, addressees: readonly Mailbox[]): boolean {
  const local = localPartOf(path)
  // Majordomo and LISTSERV use an owner address as the sender of every post.
  if (/^owner-|-owner$/.test(local)) return true
  const name = local.replace(AROUND_LIST_NAME, '')
  return name !== local && addressees.some(({ address }) => localPartOf(address) === name)
}

function localPartOf(address: string): string {
  const end = Math.min(LOCAL_PART_LENGTH_MAX, Math.max(0, address.lastIndexOf('@')))
  return address.slice(0, end).toLowerCase()
}

const MAIL_SYSTEM_NAME =
  /^(?:mailer[- ]?daemon|internet mail delivery|mail delivery (?:(?:sub)?system|service)|(?:mail )?delivery subsystem|e?-?mail-?zustell(?:system|dienst|ungssystem)|(?:sous-)?syst[eè]me de (?:remise|distribution|livraison) (?:du|de|des) (?:courriers?|e?-?mails?|messages?)|(?:sub)?sistema de (?:entrega|env[íi]o) de (?:correos?|e?-?mails?|mensagens|mensajes)|(?:sotto)?sistema di (?:consegna|recapito)(?: (?:della )?posta)?|mailbezorg(?:ings)?systeem|postleveranss?ystem|(?:под)?система доставки(?: почты)?|служба доставки почты|メール(?:配信|配送)(?:サブ)?システム|(?:邮件|郵件)(?:投递|傳遞|发送|遞送)(?:子)?(?:系统|系統)|메일 (?:전송|배달) (?:하위 ?)?시스템)$/iu
const PROGRAM_NAME =
  /\b(?:cron daemon|no[- ]?reply|do not reply|notifications?|(?:network )?monitor(?:ing)?)\)?$|^(?:uptime ?robot|grafana|nagios|zabbix)$/i

/** Words that often end the display names of programs. */
const SERVICE_TITLE = /\b(?:receipts|updates|alerts|reminders|system account)$/i

/** Whether the author is a postmaster, who sends failure reports among other mail. */
export function isPostmaster({ name, address }: Mailbox): boolean {
  const isTitle = /^(?:postmaster|(?:mail )?(?:system )?administrator)$/i.test(bareName(name))
  return isTitle || localPartOf(address) === 'postmaster'
}

export function isMailSystemName(name: string): boolean {
  return MAIL_SYSTEM_NAME.test(bareName(name))
}

export function readName(name: string): Read {
  if (isMailSystemName(name)) return { rule: 'mail-system-name', says: 'bounce' }
  if (PROGRAM_NAME.test(bareName(name))) return { rule: 'program-name', says: 'system' }
  return SERVICE_TITLE.test(bareName(name)) ? PROGRAM('program-name') : null
}

function bareName(name: string): string {
  return name
    .slice(0, 200)
    .replace(/["'()<>]/g, '')
    .trim()
}
