// Guards of a policy examine a message before it is sent, and report findings.

import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { GuardName } from '@mailroom/contract/vocabulary.ts'
import { hasDataUri } from '@mailroom/mail-reading/content/data-uris.ts'
import type { SecretFinding } from '@mailroom/mail-reading/secrets/find-secrets.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { addressKey, withName } from '#platform/email-address.ts'
import { findWriters, findWrittenTo, SENDER_PROOFS } from '#policy/store/send-policies.ts'
import { findInjected } from './find-injected.ts'
import type { GuardDeps, JudgedAddress, JudgedMessage } from './judged-message.ts'
import { findProvenWriters, peopleOf, readThread } from './known-people.ts'
import { type EffectiveOutbound, findingKey } from './outbound-policy.ts'
import { readDocuments } from './read-documents.ts'

type Guarded = {
  inbox: Inbox
  message: JudgedMessage
  /** Addresses that match no rule. An allow rule lets its address pass every guard. */
  unruled: readonly JudgedAddress[]
  /** Addresses without a rule that appear only in extra header fields. */
  inFields: readonly JudgedAddress[]
  allowedFindings: EffectiveOutbound['allowedFindings']
}

/** If a guard cannot decide, it throws and the message is held. */
type Guard = (deps: GuardDeps, guarded: Guarded) => Promise<Omit<HoldReason, 'guard'>[]>

export const guards: Readonly<Record<GuardName, Guard>> = {
  async newRecipients(deps, { inbox, unruled }) {
    const strangers = others(unruled, inbox)
    const keys = strangers.map(({ key }) => key)
    const writers = await findProvenWriters(deps, inbox, keys)
    const written = await findWrittenTo(deps.db, inbox.id, keys)
    const claimed = await findClaimed(deps, inbox, keys)
    return strangers
      .filter(({ key }) => !writers.has(key) && !written.has(key))
      .map(({ address: recipient, key }) => ({
        detail: `${recipient} ${claimed.has(key) ? UNPROVEN : 'has never written to the inbox'}, and the inbox has never written to it.`,
        recipient,
      }))
  },

  async provenance(deps, { inbox, message, unruled, inFields }) {
    const asked = others([...unruled, ...inFields], inbox)
    const keys = asked.map(({ key }) => key)
    const threadId = message.threadId ?? message.forwardedThreadId
    const found = await findInjected(deps, { inbox, keys, threadId })
    const claimed = await findClaimed(deps, inbox, [...found.keys()])
    return asked.flatMap(({ address: recipient, key }) => {
      const mention = found.get(key)
      if (mention === undefined) return []
      const detail = `The address ${recipient} comes from inside the received message ${mention.messageId}. Its owner ${claimed.has(key) ? UNPROVEN : 'has never written to the inbox'}.`
      return [{ detail, recipient }]
    })
  },

  async outsideThread(deps, { inbox, message, unruled }) {
    if (message.threadId === null || unruled.length === 0) return []
    const thread = await readThread(deps, inbox, message.threadId)
    const inThread = await peopleOf(deps, inbox, thread)
    return others(unruled, inbox)
      .filter(({ key }) => !inThread.has(key))
      .map(({ address: recipient }) => ({
        detail: `${recipient} is in no From or Reply-To field of the thread, and in no To or Cc field of a proven author.`,
        recipient,
      }))
  },

  async secrets(deps, { inbox, message, allowedFindings }) {
    const { subject, text, html } = message
    const attachments = filesOf(message)
    const documents = await readDocuments(deps, inbox.accountId, attachments)
    const texts = [...fieldTexts(inbox, message), ...documents].filter(({ text }) => text !== '')
    const found = await Promise.all([
      deps.parser.findSecrets({ subject, text, html, attachments }),
      ...texts.map(async ({ part, text }) => {
        const asked = { subject: '', text, html: '', attachments: [] }
        const findings = await deps.parser.findSecrets(asked)
        return findings?.map((one) => ({ ...one, part })) ?? null
      }),
    ])
    const all = found.flatMap((findings) => {
      if (findings === null) throw new Error('The message was not read completely.')
      return findings
    })
    const findings = withoutAllowed(all, allowedFindings)
    if (findings.length === 0) return []
    const kinds = [...new Set(findings.map(({ kind }) => kind))].join(', ')
    return [{ detail: `The message contains secrets: ${kinds}.`, findings }]
  },

  async attachments(_deps, { message }) {
    const attachments = filesOf(message)
    const inHtml = hasDataUri(message.html)
      ? [{ detail: 'The HTML of the message has a file in a data: URI.' }]
      : []
    if (attachments.length === 0) return inHtml
    const count = attachments.length === 1 ? 'a file' : `${attachments.length} files`
    return [{ detail: `The message has ${count} attached.` }, ...inHtml]
  },
}

/** A search stops after a hundred findings, so that allowed values could hide other secrets. */
const FINDINGS_TO_ALLOW_MAX = 50

function withoutAllowed(
  findings: readonly SecretFinding[],
  allowed: Guarded['allowedFindings'],
): SecretFinding[] {
  if (findings.length > FINDINGS_TO_ALLOW_MAX) return [...findings]
  const keys = new Set(allowed.map(findingKey))
  return findings.filter((finding) => !keys.has(findingKey(finding)))
}

const UNPROVEN = 'is unproven (neither SPF nor DKIM has confirmed its mail to the inbox)'

/** Finds addresses in From of mail to the inbox, proven or not. */
function findClaimed({ db }: GuardDeps, { id: inboxId }: Inbox, keys: readonly string[]) {
  return findWriters(db, { inboxId, proofMin: SENDER_PROOFS.none }, keys)
}

function filesOf({ attachments }: JudgedMessage) {
  if (attachments === null) throw new Error('The files of the message were not read.')
  return attachments
}

function fieldTexts(
  { displayName, address }: Inbox,
  { to, cc, bcc, replyTo, names, headers, attachments }: JudgedMessage,
): { part: string; text: string }[] {
  const named = (address: string) => withName(names, address)
  const lines = headers.map(({ name, value }) => `${name.replace(/^(?:x|list)-/i, '')}\n${value}`)
  return [
    { part: 'headers', text: lines.join('\n') },
    { part: 'from', text: `${displayName ?? ''} <${address}>` },
    { part: 'to', text: to.map(named).join(', ') },
    { part: 'cc', text: cc.map(named).join(', ') },
    { part: 'bcc', text: bcc.join(', ') },
    { part: 'replyTo', text: replyTo === null ? '' : named(replyTo) },
    ...(attachments ?? []).flatMap(({ contentType, contentId }, index) => [
      { part: `attachment:${index}/contentType`, text: contentType },
      { part: `attachment:${index}/contentId`, text: contentId ?? '' },
    ]),
  ]
}

function others(addresses: readonly JudgedAddress[], inbox: Inbox): readonly JudgedAddress[] {
  const own = addressKey(inbox.address)
  return addresses.filter(({ key }) => key !== own)
}
