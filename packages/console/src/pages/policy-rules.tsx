// The rules and the allowed values of a policy that is being edited.

import { shownLine } from '@mailroom/mail/unseen.ts'
import type { Policy } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatWhole } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { isApprover } from '#data/session.ts'
import { Button } from '#parts/button.tsx'
import { Badge } from '#parts/notice.tsx'
import { Section } from '#parts/page.tsx'
import {
  type Direction,
  type Draft,
  endWords,
  isPast,
  type PolicyRule,
  ruleKey,
  widthOf,
} from './policy-words.ts'
import { RuleDialog } from './rule-dialog.tsx'

type EditProps = {
  policy: Policy
  draft: Draft
  setDraft: (draft: Draft) => void
  isReadOnly: boolean
}

export function Rules({
  direction,
  policy,
  draft,
  setDraft,
  isReadOnly,
}: EditProps & { direction: Direction }) {
  const [asked, setAsked] = useState<'new' | PolicyRule | null>(null)
  const half = draft[direction]
  const width = widthOf(policy.scope)
  const wider = policy.effective[direction].rules.filter((rule) => widthOf(rule) !== width)
  const people = direction === 'inbound' ? 'senders' : 'recipients'
  const setRules = (rules: readonly PolicyRule[]) =>
    setDraft({ ...draft, [direction]: { ...half, rules } })
  const remove = (rule: PolicyRule) => setRules(half.rules.filter(({ id }) => id !== rule.id))
  const put = (rule: PolicyRule) => {
    const isThere = half.rules.some((one) => ruleKey(one) === ruleKey(rule))
    setRules(
      isThere
        ? half.rules.map((one) => (ruleKey(one) === ruleKey(rule) ? { ...rule, id: one.id } : one))
        : [rule, ...half.rules],
    )
  }
  return (
    <Section
      title={direction === 'inbound' ? 'Rules for senders' : 'Rules for recipients'}
      actions={
        !isReadOnly && (
          <Button icon="plus" onClick={() => setAsked('new')}>
            New rule for {people}
          </Button>
        )
      }
    >
      {direction === 'inbound' && !isApprover.value && (
        <p class="hint">
          <a href={paths.rules}>Sender rules</a> lists the rules for senders of all pods and
          inboxes.
        </p>
      )}
      {half.rules.length + wider.length === 0 ? (
        <p class="muted">No rules apply.</p>
      ) : (
        <ul class="panel event-lines">
          {half.rules.map((rule) => (
            <li key={rule.id}>
              <RuleWords rule={rule} />
              <span class="muted">set here</span>
              {!isReadOnly && (
                <>
                  <Button
                    kind="quiet"
                    icon="edit"
                    label={`Change the rule for ${rule.value}`}
                    onClick={() => setAsked(rule)}
                  />
                  <Button
                    kind="quiet"
                    icon="trash"
                    label={`Remove the rule for ${rule.value}`}
                    onClick={() => remove(rule)}
                  />
                </>
              )}
            </li>
          ))}
          {wider.map((rule) => (
            <li key={rule.id}>
              <RuleWords rule={rule} />
              <span class="muted">from the {widthOf(rule)}</span>
            </li>
          ))}
        </ul>
      )}
      {asked !== null && (
        <RuleDialog
          direction={direction}
          rule={asked === 'new' ? null : asked}
          onClose={() => setAsked(null)}
          submit={async (fields) => {
            put({ id: crypto.randomUUID(), ...fields })
            setAsked(null)
          }}
        />
      )}
    </Section>
  )
}

function RuleWords({ rule }: { rule: Omit<PolicyRule, 'id'> }) {
  const { type, value, expiresAt, note } = rule
  return (
    <>
      <Badge tone={isPast(expiresAt) ? 'calm' : type === 'block' ? 'bad' : 'good'}>
        {type === 'block' ? 'Block' : rule.requireVerified ? 'Allow, verified' : 'Allow'}
      </Badge>
      <span class="event-subject">
        <span>{value}</span>
        {note !== null && <span class="muted">{shownLine(note)}</span>}
      </span>
      <RuleEnd expiresAt={expiresAt} />
    </>
  )
}

export function RuleEnd({ expiresAt }: { expiresAt: string | null }) {
  if (expiresAt === null) return null
  return (
    <span title={formatWhole(expiresAt)}>
      <Badge tone={isPast(expiresAt) ? 'warn' : 'calm'}>{endWords(expiresAt)}</Badge>
    </span>
  )
}

const HASH_LENGTH_SHOWN = 12

/** The values that the guard for secrets lets pass. */
export function AllowedValues({ policy, draft, setDraft, isReadOnly }: EditProps) {
  const { outbound } = draft
  const width = widthOf(policy.scope)
  const wider = policy.effective.outbound.allowedFindings.filter(({ from }) => from !== width)
  const own = outbound.allowedFindings.map((finding) => ({ ...finding, from: width }))
  if (own.length + wider.length === 0) return null
  const remove = (index: number) => {
    const allowedFindings = outbound.allowedFindings.filter((_, at) => at !== index)
    setDraft({ ...draft, outbound: { ...outbound, allowedFindings } })
  }
  return (
    <Section title="Secrets that may leave">
      <ul class="panel event-lines">
        {[...own, ...wider].map(({ kind, sha256, note, from }, index) => {
          const words = kind.replaceAll('_', ' ')
          const hash = sha256.slice(0, HASH_LENGTH_SHOWN)
          return (
            <li key={`${kind} ${sha256} ${from}`}>
              <Badge tone="good">Allow</Badge>
              <span class="event-subject">
                {words} <code title={`SHA-256: ${sha256}`}>{hash}…</code> {shownLine(note ?? '')}
              </span>
              <span class="muted">{from === width ? 'set here' : `from the ${from}`}</span>
              {from === width && !isReadOnly && (
                <Button
                  kind="quiet"
                  icon="trash"
                  label={`No longer allow the ${words} ${hash}`}
                  onClick={() => remove(index)}
                />
              )}
            </li>
          )
        })}
      </ul>
    </Section>
  )
}
