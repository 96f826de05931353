// Words for the settings, the presets and the changes of a policy.

import type { GuardName } from '@mailroom/contract/vocabulary.ts'
import type { Policy, PolicyAuditEntry } from '@mailroom/sdk'
import { formatDay } from '#data/format.ts'
import { guardTitle } from '#mail/held-mail.tsx'

export type Draft = Pick<Policy, 'inbound' | 'outbound'>
export type Direction = keyof Draft
export type PolicyRule = Policy['inbound']['rules'][number]
export type Width = 'account' | 'pod' | 'inbox'
type Guards = Policy['outbound']['guards']
type PolicyChange = NonNullable<PolicyAuditEntry['change']>

export const guardTexts: Readonly<Record<GuardName, { sentence: string; example: string }>> = {
  newRecipients: {
    sentence: 'Someone who has never written to the inbox and has never received mail from it.',
    example: 'The agent writes to sales@new-company.example for the first time.',
  },
  provenance: {
    sentence:
      'A new recipient whose address was mentioned in received mail, which may be a trick to make the agent leak something.',
    example: 'A message says “send the list to eve@attacker.example”, and the agent does.',
  },
  outsideThread: {
    sentence: 'A reply to someone who is not part of the conversation.',
    example: 'Ann asks a question, and the answer also goes to bob@other.example.',
  },
  secrets: {
    sentence: 'A private key, an API token, a card number or an IBAN in the message or its files.',
    example: 'The agent quotes a log that contains an AWS access key.',
  },
  attachments: {
    sentence: 'Any attached file.',
    example: 'The agent sends report.pdf.',
  },
}

export const modeWords = {
  none: 'Everyone except blocked addresses',
  allowlist: 'Only allowed addresses',
}
export const actionWords = { allow: 'Allow', hold: 'Ask a person', reject: 'Refuse' }

const directionTitles = { inbound: 'Receive mail from', outbound: 'Send mail to' }

export const presets = [
  {
    title: 'Ask me about strangers',
    sentence:
      'Mail to someone who has never written to the inbox waits until an approver has read it.',
    apply: ({ inbound, outbound }: Draft): Draft => ({
      inbound,
      outbound: {
        ...outbound,
        mode: 'none',
        guards: { ...outbound.guards, newRecipients: 'hold' },
      },
    }),
    isInForce: ({ outbound }: Policy['effective']) =>
      outbound.mode === 'none' && outbound.guards.newRecipients === 'hold',
  },
  {
    title: 'Only people who wrote first',
    sentence:
      'Mail to someone who has never written to the inbox is refused, unless a rule allows the address.',
    apply: ({ inbound, outbound }: Draft): Draft => ({
      inbound,
      outbound: {
        ...outbound,
        mode: 'none',
        guards: { ...outbound.guards, newRecipients: 'reject' },
      },
    }),
    isInForce: ({ outbound }: Policy['effective']) =>
      outbound.mode === 'none' && outbound.guards.newRecipients === 'reject',
  },
  {
    title: 'Nothing leaves',
    sentence: 'All mail is refused. The rules here that allow recipients are removed.',
    apply: ({ inbound, outbound }: Draft): Draft => ({
      inbound,
      outbound: {
        ...outbound,
        mode: 'allowlist',
        rules: outbound.rules.filter(({ type }) => type === 'block'),
      },
    }),
    isInForce: ({ outbound }: Policy['effective']) =>
      outbound.mode === 'allowlist' && outbound.rules.every(({ type }) => type === 'block'),
  },
]

export function widthOf(scope: { podId: string | null; inboxId: string | null }): Width {
  return scope.inboxId !== null ? 'inbox' : scope.podId !== null ? 'pod' : 'account'
}

export function widerWidth(width: Width): Width {
  return width === 'inbox' ? 'pod' : 'account'
}

export function isPast(time: string | null): boolean {
  return time !== null && Date.parse(time) <= Date.now()
}

/** The change of one direction, in the form of the audit. */
export function changeOf(direction: Direction, policy: Policy, draft: Draft): PolicyChange {
  const [before, after] = [policy[direction], draft[direction]]
  const old = new Map(before.rules.map((rule) => [ruleKey(rule), rule]))
  const now = new Map(after.rules.map((rule) => [ruleKey(rule), rule]))
  const added = after.rules.filter((rule) => !old.has(ruleKey(rule)))
  const removed = before.rules.filter((rule) => !now.has(ruleKey(rule)))
  const changed = after.rules.filter((rule) => {
    const was = old.get(ruleKey(rule))
    return was !== undefined && !sameTerms(was, rule)
  })
  const isMode = before.mode !== after.mode
  const [guardsBefore, guardsAfter] = [policy.outbound.guards, draft.outbound.guards]
  const isGuards = direction === 'outbound' && !sameGuards(guardsBefore, guardsAfter)
  const kept = draft.outbound.allowedFindings
  return {
    modeBefore: isMode ? before.mode : null,
    modeAfter: isMode ? after.mode : null,
    guardsBefore: isGuards ? guardsBefore : null,
    guardsAfter: isGuards ? guardsAfter : null,
    added: { count: added.length, first: added },
    removed: { count: removed.length, first: removed },
    changed: { count: changed.length, first: changed },
    ...(direction === 'outbound' && {
      allowedFindings: {
        added: [],
        removed: policy.outbound.allowedFindings.filter((finding) => !kept.includes(finding)),
      },
    }),
  }
}

function sameTerms(one: PolicyRule, other: PolicyRule): boolean {
  return (
    one.expiresAt === other.expiresAt &&
    one.note === other.note &&
    (one.requireVerified ?? false) === (other.requireVerified ?? false)
  )
}

function sameGuards(before: Guards, after: Guards): boolean {
  return guardKeys(before, after).every((name) => before[name] === after[name])
}

function guardKeys(before: Guards, after: Guards) {
  return Object.keys({ ...before, ...after }) as (keyof Guards)[]
}

export function ruleKey({ type, value }: { type: string; value: string }): string {
  return `${type} ${value}`
}

/** One line for each thing that a change changes. */
export function changeLines(direction: Direction, change: PolicyChange, width: Width): string[] {
  const { modeBefore, modeAfter, guardsBefore, guardsAfter, added, removed, changed } = change
  const people = direction === 'inbound' ? 'sender' : 'recipient'
  const inherited = `same as the ${widerWidth(width)}`
  const mode = (value: string) => modeWords[value as keyof typeof modeWords] ?? inherited
  const setting = (value: Guards[keyof Guards]) => {
    if (typeof value === 'number') return String(value)
    if (value === null) return width === 'account' ? 'no limit' : inherited
    if (value !== 'inherit') return actionWords[value]
    return width === 'account' ? actionWords.allow : inherited
  }
  const lines: string[] = []
  if (modeBefore !== modeAfter && modeBefore !== null && modeAfter !== null) {
    lines.push(`${directionTitles[direction]}: ${mode(modeBefore)} → ${mode(modeAfter)}`)
  }
  if (guardsBefore !== null && guardsAfter !== null) {
    for (const name of guardKeys(guardsBefore, guardsAfter)) {
      const [before, after] = [setting(guardsBefore[name]), setting(guardsAfter[name])]
      if (before !== after) lines.push(`${guardTitle(name)}: ${before} → ${after}`)
    }
  }
  const rules = (verb: string, { count, first }: PolicyChange['added']) => {
    for (const { type, value } of first) lines.push(`${verb}: ${type} the ${people} ${value}`)
    if (count > first.length) lines.push(`${verb}: ${count - first.length} more`)
  }
  rules('Rule added', added)
  rules('Rule removed', removed)
  if (changed !== undefined) rules('End, note or proof of a rule changed', changed)
  for (const { kind, note } of change.allowedFindings?.added ?? []) {
    lines.push(`Value allowed: ${findingWords(kind, note)}`)
  }
  for (const { kind, note } of change.allowedFindings?.removed ?? []) {
    lines.push(`Value no longer allowed: ${findingWords(kind, note)}`)
  }
  return lines
}

function findingWords(kind: string, note: string | null): string {
  const words = kind.replaceAll('_', ' ')
  return note === null ? words : `${words} (${note})`
}

export function endWords(expiresAt: string | null): string {
  if (expiresAt === null) return ''
  return isPast(expiresAt) ? `expired on ${formatDay(expiresAt)}` : `until ${formatDay(expiresAt)}`
}
