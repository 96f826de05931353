// The form of a policy: presets, guards, modes and rules, with one Save for all of them.

import { guardNames } from '@mailroom/contract/vocabulary.ts'
import { MailroomError, type Policy } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { describeFailure } from '#data/failure.ts'
import { formatNumber, plural } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { guardTitle } from '#mail/held-mail.tsx'
import { ActionButton, Button } from '#parts/button.tsx'
import { TextField } from '#parts/field.tsx'
import { Badge, Notice } from '#parts/notice.tsx'
import { Section } from '#parts/page.tsx'
import { Choice } from '#parts/small.tsx'
import { ApproverNeeded, type PolicyAccess, ReadOnlyPolicy } from './policy-access.tsx'
import { AllowedValues, Rules } from './policy-rules.tsx'
import {
  actionWords,
  changeLines,
  changeOf,
  type Draft,
  guardTexts,
  modeWords,
  presets,
  widerWidth,
  widthOf,
} from './policy-words.ts'

export type PolicyPair = {
  policy: Policy
  /** The policy of the pod, or of the account. Null for the account. */
  wider: Policy | null
}

export function PolicyForm({
  policy,
  wider,
  access,
  load,
  onSaved,
  onDirty,
}: PolicyPair & {
  access: PolicyAccess
  load: () => Promise<PolicyPair>
  onSaved: (next: PolicyPair) => void
  onDirty: (isDirty: boolean) => void
}) {
  const [draft, setDraft] = useState<Draft>(policy)
  const [failure, setFailure] = useState<unknown>(null)
  const isReadOnly = access === 'read-only'
  const lines = unsaved(policy, draft)
  const isDirty = lines.length > 0
  useEffect(() => {
    onDirty(isDirty)
    if (!isDirty) return
    const ask = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isDirty])
  const show = (next: PolicyPair) => {
    setDraft(next.policy)
    onSaved(next)
  }
  const save = async () => {
    setFailure(null)
    try {
      const saved = await client.policy.replace(
        {
          ...(linesOf('inbound', policy, draft).length > 0 && { inbound: draft.inbound }),
          ...(linesOf('outbound', policy, draft).length > 0 && { outbound: draft.outbound }),
        },
        { ...queryOf(policy), ifMatch: policy.etag },
      )
      show({ policy: saved, wider })
      toast('Policy saved')
    } catch (error) {
      setFailure(error)
      if (!(error instanceof MailroomError) || error.code !== 'policy_changed') return
      const now = await load().catch(() => null)
      if (now !== null) show(now)
    }
  }
  const edit = { policy, draft, setDraft, isReadOnly }
  return (
    <>
      {isReadOnly && <ReadOnlyPolicy />}
      {access === 'no-approver' && <ApproverNeeded />}
      <Presets {...edit} />
      <Settings {...edit} wider={wider} hasApprover={access !== 'no-approver'} />
      <Rules direction="inbound" {...edit} />
      <Rules direction="outbound" {...edit} />
      <AllowedValues {...edit} />
      {(isDirty || failure !== null) && (
        <div class="policy-save">
          {failure !== null && <PolicyFailure error={failure} draft={draft} />}
          {isDirty && (
            <section class="panel policy-unsaved" aria-label="Unsaved changes">
              <div class="policy-unsaved-words">
                <strong>{plural(lines.length, 'unsaved change')}</strong>
                <ChangeList lines={lines} shown={UNSAVED_SHOWN} />
              </div>
              <div class="form-actions">
                <Button
                  onClick={() => {
                    setFailure(null)
                    setDraft(policy)
                  }}
                >
                  Discard
                </Button>
                <ActionButton kind="primary" action={save}>
                  Save policy
                </ActionButton>
              </div>
            </section>
          )}
        </div>
      )}
    </>
  )
}

function linesOf(direction: 'inbound' | 'outbound', policy: Policy, draft: Draft): string[] {
  return changeLines(direction, changeOf(direction, policy, draft), widthOf(policy.scope))
}

function unsaved(policy: Policy, draft: Draft): string[] {
  return [...linesOf('outbound', policy, draft), ...linesOf('inbound', policy, draft)]
}

function queryOf({ scope: { podId, inboxId } }: Policy) {
  if (inboxId !== null) return { inboxId }
  return podId === null ? {} : { podId }
}

/** Few enough that the bar, which covers the page, stays small on a phone. */
const UNSAVED_SHOWN = 4
const LINES_SHOWN = 20

export function ChangeList({
  lines,
  shown = LINES_SHOWN,
}: {
  lines: readonly string[]
  shown?: number
}) {
  const rest = lines.length - shown
  return (
    <ul class="change-list">
      {lines.slice(0, shown).map((line, index) => (
        <li key={index}>{line}</li>
      ))}
      {rest > 0 && <li>and {formatNumber(rest)} more</li>}
    </ul>
  )
}

type EditProps = {
  policy: Policy
  draft: Draft
  setDraft: (draft: Draft) => void
  isReadOnly: boolean
}

function Presets({ policy, draft, setDraft, isReadOnly }: EditProps) {
  return (
    <Section title="Presets">
      <ul class="presets">
        {presets.map(({ title, sentence, apply, isInForce }) => {
          const changes = linesOf('outbound', policy, apply(policy))
          const isNow = isInForce(policy.effective)
          const isChosen = unsaved(policy, draft).length > 0 && isSame(policy, draft, apply(policy))
          return (
            <li key={title} class={`panel preset${isNow ? ' current' : ''}`}>
              <h3>{title}</h3>
              <p>{sentence}</p>
              {isNow ? (
                <Badge tone="good">In force</Badge>
              ) : (
                <>
                  <ChangeList lines={changes} />
                  {changes.length === 0 && (
                    <p class="muted">Rules of a wider policy still allow some addresses.</p>
                  )}
                  {!isReadOnly && changes.length > 0 && (
                    <Button
                      isPressed={isChosen}
                      label={`${isChosen ? 'Chosen, not saved' : 'Choose'}: ${title}`}
                      onClick={() => setDraft(apply(policy))}
                    >
                      {isChosen ? 'Chosen, not saved' : 'Choose'}
                    </Button>
                  )}
                </>
              )}
            </li>
          )
        })}
      </ul>
    </Section>
  )
}

function isSame(policy: Policy, one: Draft, other: Draft): boolean {
  return unsaved(policy, one).join('\n') === unsaved(policy, other).join('\n')
}

function Settings({
  policy,
  draft,
  setDraft,
  isReadOnly,
  wider,
  hasApprover,
}: EditProps & { wider: Policy | null; hasApprover: boolean }) {
  const { outbound } = draft
  const width = widthOf(policy.scope)
  const setGuards = (change: Partial<typeof outbound.guards>) =>
    setDraft({ ...draft, outbound: { ...outbound, guards: { ...outbound.guards, ...change } } })
  const optionsOf = (words: Readonly<Record<string, string>>, inherited: string | undefined) => [
    ...Object.entries(words).map(([value, text]) => ({ value, text })),
    ...(inherited === undefined
      ? []
      : [{ value: 'inherit', text: `Same as the ${widerWidth(width)}: ${words[inherited]}` }]),
  ]
  // In the account's policy, inherit means to allow.
  const shown = (value: string) => (wider === null && value === 'inherit' ? 'allow' : value)
  const widerGuards = wider?.effective.outbound.guards
  const { maxPerHour } = outbound.guards
  const limit = maxPerHour === null ? '' : String(maxPerHour)
  const widerLimit = widerGuards && (widerGuards.maxPerHour ?? 'no limit')
  return (
    <>
      <Section title="Who may write, and to whom">
        <div class="panel settings-list">
          {(['inbound', 'outbound'] as const).map((direction) => (
            <Setting
              key={direction}
              title={direction === 'inbound' ? 'Receive mail from' : 'Send mail to'}
              sentence={modeSentences[direction]}
              value={draft[direction].mode}
              options={optionsOf(modeWords, wider?.effective[direction].mode)}
              onValue={(mode) =>
                setDraft({
                  ...draft,
                  [direction]: { ...draft[direction], mode },
                })
              }
              isReadOnly={isReadOnly}
            />
          ))}
        </div>
      </Section>
      <Section title="Guards">
        <div class="panel settings-list">
          {guardNames.map((name) => (
            <Setting
              key={name}
              title={guardTitle(name)}
              {...guardTexts[name]}
              value={shown(outbound.guards[name])}
              options={optionsOf(actionWords, widerGuards?.[name])}
              onValue={(action) => setGuards({ [name]: action })}
              isReadOnly={isReadOnly}
            >
              {!hasApprover && outbound.guards[name] === 'hold' && <NeedsApprover />}
            </Setting>
          ))}
          <SettingRow
            title="Hold messages after this many per hour"
            sentence="Each further message of an inbox within the hour waits for a person."
            example="With 30, the 31st message within an hour waits."
          >
            {isReadOnly ? (
              <Badge>
                {limit ||
                  (widerLimit === undefined
                    ? 'No limit'
                    : `Same as the ${widerWidth(width)}: ${widerLimit}`)}
              </Badge>
            ) : (
              <TextField
                label="Hold messages after this many per hour"
                isLabelHidden
                name="maxPerHour"
                value={limit}
                onValue={(text) => {
                  const digits = text.replace(/\D/g, '')
                  setGuards({ maxPerHour: digits === '' ? null : Number(digits) })
                }}
                hint={
                  widerLimit === undefined
                    ? 'Empty: no limit.'
                    : `Empty: same as the ${widerWidth(width)} (${widerLimit}).`
                }
                autocomplete="off"
              />
            )}
            {!hasApprover && maxPerHour !== null && <NeedsApprover />}
          </SettingRow>
        </div>
      </Section>
    </>
  )
}

const modeSentences = {
  inbound: 'Mail from anyone else goes to quarantine.',
  outbound: 'Mail to anyone else is refused.',
}

function NeedsApprover() {
  return (
    <p class="hint">
      Needs an approver: <a href={paths.approvers}>create one first</a>.
    </p>
  )
}

function Setting({
  value,
  options,
  onValue,
  isReadOnly,
  children,
  ...words
}: {
  title: string
  sentence: string
  example?: string
  value: string
  options: readonly { value: string; text: string }[]
  onValue: (value: string) => void
  isReadOnly: boolean
  children?: ComponentChildren
}) {
  return (
    <SettingRow {...words}>
      {isReadOnly ? (
        <Badge>{options.find((option) => option.value === value)?.text ?? value}</Badge>
      ) : (
        <Choice label={words.title} {...{ value, options, onValue }} />
      )}
      {children}
    </SettingRow>
  )
}

function SettingRow({
  title,
  sentence,
  example,
  children,
}: {
  title: string
  sentence: string
  example?: string
  children: ComponentChildren
}) {
  return (
    <div class="setting">
      <div class="setting-words">
        <h3>{title}</h3>
        <p>{sentence}</p>
        {example && <p class="muted">Example: {example}</p>}
      </div>
      <div class="setting-value">{children}</div>
    </div>
  )
}

function PolicyFailure({ error, draft }: { error: unknown; draft: Draft }) {
  const code = error instanceof MailroomError ? error.code : ''
  if (code === 'no_approver') {
    return (
      <Notice tone="bad" title="There is no approver for held mail">
        Create an approver <a href={paths.approvers}>on the Approvers page</a> first, then save
        again.
      </Notice>
    )
  }
  if (code === 'policy_changed') {
    return (
      <Notice tone="bad" title="The policy has been changed elsewhere">
        Nothing was saved. The current policy is shown now: make your changes again.
      </Notice>
    )
  }
  if (code === 'approver_required') return <ReadOnlyPolicy />
  const { message, fix, fields } = describeFailure(error)
  return (
    <Notice tone="bad" title={message}>
      {fix}
      {Object.entries(fields).map(([path, text]) => (
        <p key={path}>
          {fieldName(path, draft)}: {text}
        </p>
      ))}
    </Notice>
  )
}

/** Names the rule that a path such as `outbound.rules[3].value` refers to. */
function fieldName(path: string, draft: Draft): string {
  const [, direction, index] = /^(inbound|outbound)\.rules\[(\d+)\]/.exec(path) ?? []
  if (direction === undefined) return path
  const rule = draft[direction as keyof Draft].rules[Number(index)]
  return rule === undefined ? path : `The rule for ${rule.value}`
}
