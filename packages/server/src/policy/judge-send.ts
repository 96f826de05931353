// Judges a message before it is sent: its recipients by rules and mode, the message by guards.

import type { HoldReason } from '@mailroom/contract/sending.ts'
import { type GuardName, guardNames } from '@mailroom/contract/vocabulary.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findOwnInbox } from '#inboxes/store/inboxes.ts'
import { addressKey } from '#platform/email-address.ts'
import { findRecipientRules, findSendPolicy, type SendPolicy } from '#policy/store/send-policies.ts'
import { CannotExamine } from './cannot-examine.ts'
import { guards } from './guards.ts'
import {
  type Addressed,
  addressesInFields,
  addressesOf,
  type GuardDeps,
  type JudgedAddress,
  type JudgedMessage,
} from './judged-message.ts'
import { decidingRecipientRule, recipientValuesOf } from './match-recipient.ts'

export type SendJudgement = {
  decision: 'allow' | 'hold' | 'reject'
  /** Without the SHA-256 of secrets: that of a card number is as good as the number. */
  reasons: HoldReason[]
  /** For each finding of the reasons, in their order, the SHA-256 of its secret. */
  findingHashes: string[]
  /** Hourly sends above which the send is held, or null for no limit. */
  holdAbovePerHour: number | null
}

/** Returns null if no policy applies. A guard that fails holds the message. */
export async function judgeSend(
  deps: GuardDeps,
  { inbox, readMessage }: { inbox: Inbox; readMessage: () => Promise<JudgedMessage> },
): Promise<SendJudgement | null> {
  const { accountId, id: inboxId } = inbox
  const policy = await findSendPolicy(deps.db, { accountId, inboxId })
  if (policy === null) return null
  const { allowedFindings } = policy
  const holdAbovePerHour = policy.guards.maxPerHour
  const message = await readMessage()
  const { refusals, ...unruled } = await judgeAddresses(deps, policy, { inbox, message })
  if (refusals.length > 0) return rejectedBy(refusals, holdAbovePerHour)
  const found: { action: 'hold' | 'reject'; reason: HoldReason }[] = []
  for (const name of guardNames) {
    const action = policy.guards[name]
    if (action === 'allow') continue
    try {
      const reasons = await guards[name](deps, { inbox, message, allowedFindings, ...unruled })
      found.push(...reasons.map((reason) => ({ action, reason: { guard: name, ...reason } })))
    } catch (error) {
      deps.log.warn({ error, guard: name, inboxId }, 'a guard failed, so the message is held')
      found.push({ action: 'hold', reason: failureOf(name, error) })
    }
  }
  const isRejected = found.some(({ action }) => action === 'reject')
  const decision = isRejected ? 'reject' : found.length > 0 ? 'hold' : 'allow'
  const reasons = found.flatMap(({ action, reason }) => (action === decision ? [reason] : []))
  return { decision, ...withHashesApart(reasons), holdAbovePerHour }
}

function withHashesApart(
  reasons: readonly HoldReason[],
): Pick<SendJudgement, 'reasons' | 'findingHashes'> {
  const findingHashes: string[] = []
  const shown = reasons.map(({ findings, ...reason }): HoldReason => {
    if (findings === undefined) return reason
    const positions = findings.map(({ sha256 = '', ...position }) => {
      findingHashes.push(sha256)
      return position
    })
    return { ...reason, findings: positions }
  })
  return { reasons: shown, findingHashes }
}

function rejectedBy(reasons: HoldReason[], holdAbovePerHour: number | null): SendJudgement {
  return { decision: 'reject', reasons, findingHashes: [], holdAbovePerHour }
}

/** After an approval, only block rules that were added later refuse. Null if none matches. */
export async function judgeApproved(
  deps: Pick<GuardDeps, 'db' | 'clock'>,
  { inbox, message, approvedAtMs }: { inbox: Inbox; message: Addressed; approvedAtMs: number },
): Promise<SendJudgement | null> {
  const policy = await findSendPolicy(deps.db, { accountId: inbox.accountId, inboxId: inbox.id })
  if (policy === null) return null
  const { refusals } = await judgeAddresses(
    deps,
    { ...policy, mode: 'none' },
    { inbox, message, blocksSinceMs: approvedAtMs },
  )
  if (refusals.length === 0) return null
  return rejectedBy(refusals, null)
}

function failureOf(guard: GuardName, error: unknown): HoldReason {
  const why = error instanceof CannotExamine ? ` ${error.message}` : ''
  return {
    guard,
    detail: `The guard could not examine the message, so a person must review it.${why}`,
  }
}

async function judgeAddresses(
  { db, clock }: Pick<GuardDeps, 'db' | 'clock'>,
  policy: SendPolicy,
  {
    inbox,
    message,
    blocksSinceMs = 0,
  }: { inbox: Inbox; message: Addressed; blocksSinceMs?: number },
): Promise<{ refusals: HoldReason[]; unruled: JudgedAddress[]; inFields: JudgedAddress[] }> {
  const named = addressesOf(message)
  const known = new Set(named.map(({ key }) => key))
  const addresses = [...named, ...addressesInFields(message).filter(({ key }) => !known.has(key))]
  const { accountId, podId, id: inboxId } = inbox
  const values = [...new Set(addresses.flatMap(({ address }) => recipientValuesOf(address)))]
  const found = policy.hasRules
    ? await findRecipientRules(db, { accountId, podId, inboxId, values, nowMs: clock.now() })
    : []
  const rules = found.filter(
    ({ type, createdAtMs }) => type !== 'block' || createdAtMs >= blocksSinceMs,
  )
  const refusals: HoldReason[] = []
  const [unruled, inFields]: [JudgedAddress[], JudgedAddress[]] = [[], []]
  const to = new Set([...message.to, ...message.cc, ...message.bcc].map(addressKey))
  for (const judged of addresses) {
    const { address: recipient, key } = judged
    const rule = decidingRecipientRule(rules, recipient)
    if (rule?.type === 'block') {
      refusals.push({ guard: 'rule', detail: `A rule blocks ${recipient}.`, recipient })
    } else if (rule === null) {
      // Replies to an inbox of the account stay in the account.
      if (!to.has(key) && (await findOwnInbox(db, accountId, recipient)) !== null) continue
      if (policy.mode === 'allowlist') {
        refusals.push({ guard: 'mode', detail: `No rule allows ${recipient}.`, recipient })
      } else (known.has(key) ? unruled : inFields).push(judged)
    }
  }
  return { refusals, unruled, inFields }
}
