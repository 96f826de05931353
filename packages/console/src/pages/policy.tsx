// The policy of the account, a pod or an inbox: what is set here, what is inherited, and from
// where.

import { guardNames } from '@mailroom/contract/vocabulary.ts'
import { shownLine } from '@mailroom/mail/unseen.ts'
import { MailroomError, type Policy } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { podName, readPerson } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { guardTitle } from '#mail/held-mail.tsx'
import { ActionButton, Button } from '#parts/button.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { Badge, Notice, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { Choice } from '#parts/small.tsx'

type Direction = 'inbound' | 'outbound'
type Rule = Policy['effective']['outbound']['rules'][number]
type Place = { value: string; text: string }

const PLACES_MAX = 100
const account: Place = { value: '', text: 'The whole account' }

/**
 * An approver cannot list inboxes. The select offers the inboxes of reviews; others can be named.
 */
async function readPlaces(signal: AbortSignal): Promise<Place[]> {
  const bounds = { limit: PLACES_MAX, signal }
  if (isApprover.value) {
    const { data } = await client.reviews.list(bounds).page()
    const known = new Map(data.map(({ inboxId, from }) => [inboxId, from]))
    return [account, ...[...known].map(([value, text]) => ({ value, text }))]
  }
  const [pods, inboxes] = await Promise.all([
    client.pods.list(bounds).page(),
    client.inboxes.list(bounds).page(),
  ])
  return [
    account,
    ...pods.data.map((pod) => ({ value: pod.id, text: `Pod ${podName(pod)}` })),
    ...inboxes.data.map(({ id, address }) => ({ value: id, text: address })),
  ]
}

function scopeOf(place: string) {
  if (place === '') return {}
  return place.startsWith('pod_') ? { podId: place } : { inboxId: place }
}

export function PolicyPage() {
  const [place, setPlace] = useState('')
  const places = useResource('places of policies', readPlaces)
  const policy = useResource(`policy ${place}`, (signal) =>
    client.policy.get({ ...scopeOf(place), signal }),
  )
  return (
    <Page
      title="Policy"
      intro="Who may write to the inboxes, whom they may write to, and what they may send. The policy of an inbox overrides its pod, and a pod overrides the account."
    >
      <div class="stack">
        <div class="policy-place">
          <SelectField
            label="Policy of"
            name="place"
            value={place}
            options={withPlace(places.value ?? [account], place)}
            onValue={setPlace}
          />
        </div>
        {isApprover.value && <OtherInbox known={places.value ?? []} onInbox={setPlace} />}
        {policy.value !== undefined ? (
          <Editor
            key={place}
            place={place}
            policy={policy.value}
            onSaved={(next) => policy.replace(() => next)}
            reload={policy.reload}
          />
        ) : policy.error ? (
          <Trouble error={policy.error} retry={policy.reload} />
        ) : (
          <Skeleton label="Loading the policy" />
        )}
      </div>
    </Page>
  )
}

function withPlace(places: readonly Place[], place: string): readonly Place[] {
  const isKnown = places.some(({ value }) => value === place)
  return isKnown ? places : [...places, { value: place, text: place }]
}

function OtherInbox({
  known,
  onInbox,
}: {
  known: readonly Place[]
  onInbox: (inboxId: string) => void
}) {
  const [text, setText] = useState('')
  const [error, setError] = useState<string>()
  const find = () => {
    const typed = text.trim().toLowerCase()
    const byAddress = known.find(({ text: name }) => readPerson(name).address === typed)
    const inboxId = byAddress?.value ?? (typed.startsWith('inb_') ? typed : null)
    setError(
      inboxId === null
        ? 'No held mail is from this address. Enter the id of the inbox (inb_…).'
        : undefined,
    )
    if (inboxId !== null) onInbox(inboxId)
  }
  return (
    <form
      class="field-beside"
      onSubmit={(event) => {
        event.preventDefault()
        find()
      }}
    >
      <TextField
        label="Another inbox"
        name="inbox"
        value={text}
        onValue={setText}
        error={error}
        hint="An approver cannot list the inboxes. Enter the id of an inbox, or the address of an inbox with held mail."
        required
        autocomplete="off"
        spellcheck={false}
      />
      <Button type="submit">Show its policy</Button>
    </form>
  )
}

function Editor({
  place,
  policy,
  onSaved,
  reload,
}: {
  place: string
  policy: Policy
  onSaved: (policy: Policy) => void
  reload: () => void
}) {
  const [draft, setDraft] = useState(draftOf(policy))
  const [failure, setFailure] = useState<unknown>(null)
  const { effective } = policy
  const save = async () => {
    setFailure(null)
    try {
      const { inbound, outbound } = policy
      const saved = await client.policy.replace(
        {
          ...(draft.inbound !== inbound.mode && {
            inbound: { mode: draft.inbound, rules: inbound.rules },
          }),
          outbound: { ...outbound, mode: draft.outbound, guards: draft.guards },
        },
        { ...scopeOf(place), ifMatch: policy.etag },
      )
      onSaved(saved)
      toast('Policy saved')
    } catch (error) {
      setFailure(error)
      if (!(error instanceof MailroomError) || error.code !== 'policy_changed') return
      const now = await client.policy.get(scopeOf(place)).catch(() => null)
      if (now === null) return
      setDraft(draftOf(now))
      onSaved(now)
    }
  }
  const setGuards = (change: Partial<typeof draft.guards>) =>
    setDraft({ ...draft, guards: { ...draft.guards, ...change } })
  const modes = modeOptions(place)
  return (
    <>
      {failure !== null && <PolicyFailure error={failure} />}
      <div class="panel panel-body form policy-fields">
        <SelectField
          label="Mail is received from"
          name="inbound"
          value={draft.inbound}
          options={modes}
          onValue={(inbound) => setDraft({ ...draft, inbound: inbound as typeof draft.inbound })}
          hint={applies(modeWords[effective.inbound.mode], effective.inbound.modeFrom, place)}
        />
        <SelectField
          label="Mail may be sent to"
          name="outbound"
          value={draft.outbound}
          options={modes}
          onValue={(outbound) =>
            setDraft({ ...draft, outbound: outbound as typeof draft.outbound })
          }
          hint={applies(modeWords[effective.outbound.mode], effective.outbound.modeFrom, place)}
        />
        {guardNames.map((name) => (
          <SelectField
            key={name}
            label={guardTitle(name)}
            name={name}
            value={draft.guards[name]}
            options={actionOptions(place)}
            onValue={(action) => setGuards({ [name]: action })}
            hint={applies(
              actionWords[effective.outbound.guards[name]],
              effective.outbound.guardsFrom[name],
              place,
            )}
          />
        ))}
        <TextField
          label="Sends per hour before further sends are held"
          name="maxPerHour"
          value={draft.guards.maxPerHour === null ? '' : String(draft.guards.maxPerHour)}
          onValue={(text) => {
            const digits = text.replace(/\D/g, '')
            setGuards({ maxPerHour: digits === '' ? null : Number(digits) })
          }}
          hint={
            applies(
              String(effective.outbound.guards.maxPerHour ?? 'no limit'),
              effective.outbound.guardsFrom.maxPerHour,
              place,
            ) ??
            (place === '' ? 'Leave empty for no limit.' : 'Leave empty to use the wider policy.')
          }
        />
        <div class="form-actions">
          <ActionButton kind="primary" action={save}>
            Save policy
          </ActionButton>
        </div>
      </div>
      <Rules direction="inbound" {...{ place, policy, reload }} onFailure={setFailure} />
      <Rules direction="outbound" {...{ place, policy, reload }} onFailure={setFailure} />
      <AllowedValues {...{ place, policy, reload }} onFailure={setFailure} />
    </>
  )
}

const HASH_LENGTH_SHOWN = 12

/** The values that the guard for secrets lets pass. */
function AllowedValues({
  place,
  policy,
  reload,
  onFailure,
}: {
  place: string
  policy: Policy
  reload: () => void
  onFailure: (error: unknown) => void
}) {
  const { outbound, effective, etag } = policy
  const applied = effective.outbound.allowedFindings
  if (applied.length === 0) return null
  const remove = async (removed: (typeof applied)[number]) => {
    onFailure(null)
    const allowedFindings = outbound.allowedFindings.filter(
      ({ kind, sha256 }) => kind !== removed.kind || sha256 !== removed.sha256,
    )
    await client.policy
      .replace({ outbound: { ...outbound, allowedFindings } }, { ...scopeOf(place), ifMatch: etag })
      .catch(onFailure)
    reload()
  }
  return (
    <Section title="Secrets that may leave">
      <ul class="panel event-lines">
        {applied.map((allowed) => {
          const { kind, sha256, note, from } = allowed
          const words = kind.replaceAll('_', ' ')
          const hash = sha256.slice(0, HASH_LENGTH_SHOWN)
          return (
            <li key={`${kind} ${sha256}`}>
              <Badge tone="good">Allow</Badge>
              <span class="event-subject">
                {words} <code title={`SHA-256: ${sha256}`}>{hash}…</code> {shownLine(note ?? '')}
              </span>
              <span class="muted">
                {from === widthOfPlace(place) ? 'set here' : `from the ${from}`}
              </span>
              {from === widthOfPlace(place) && (
                <ActionButton
                  kind="quiet"
                  icon="trash"
                  label={`No longer allow the ${words} ${hash}`}
                  action={() => remove(allowed)}
                />
              )}
            </li>
          )
        })}
      </ul>
    </Section>
  )
}

const modeWords = {
  none: 'Everyone except those blocked by a rule',
  allowlist: 'Only those allowed by a rule',
  inherit: 'Same as the wider policy',
}
const actionWords = {
  allow: 'Allow',
  hold: 'Hold for an approver',
  reject: 'Reject',
  inherit: 'Same as the wider policy',
}

function optionsOf(words: Readonly<Record<string, string>>, place: string) {
  return Object.entries(words)
    .filter(([value]) => place !== '' || value !== 'inherit')
    .map(([value, text]) => ({ value, text }))
}
const modeOptions = (place: string) => optionsOf(modeWords, place)
const actionOptions = (place: string) => optionsOf(actionWords, place)

function widthOfPlace(place: string): 'account' | 'pod' | 'inbox' {
  return place === '' ? 'account' : place.startsWith('pod_') ? 'pod' : 'inbox'
}

/** The inherited value; the field holds the value set here. */
function applies(
  words: string,
  from: 'account' | 'pod' | 'inbox',
  place: string,
): string | undefined {
  if (from === widthOfPlace(place)) return undefined
  return `Applies: ${words.toLowerCase()}, from the policy of the ${from}.`
}

function draftOf({ inbound, outbound }: Policy) {
  return { inbound: inbound.mode, outbound: outbound.mode, guards: outbound.guards }
}

function PolicyFailure({ error }: { error: unknown }) {
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
        Nothing was saved. The current policy is shown below: make your changes again.
      </Notice>
    )
  }
  if (code === 'approver_required') {
    return (
      <Notice tone="bad" title="Only an approver can change this policy">
        The account has an approver, so an API key cannot change it. Sign out, and sign in with the
        token of an approver (mra_…).
      </Notice>
    )
  }
  return (
    <Notice tone="bad" title={error instanceof Error ? error.message : String(error)}>
      {error instanceof MailroomError && error.fix}
    </Notice>
  )
}

function Rules({
  direction,
  place,
  policy,
  reload,
  onFailure,
}: {
  direction: Direction
  place: string
  policy: Policy
  reload: () => void
  onFailure: (error: unknown) => void
}) {
  const [isAdding, setIsAdding] = useState(false)
  const { rules } = policy.effective[direction]
  const own = new Set(policy[direction].rules.map(({ id }) => id))
  const attempt = async (change: () => Promise<unknown>) => {
    onFailure(null)
    await change().catch(onFailure)
    reload()
  }
  return (
    <Section
      title={direction === 'inbound' ? 'Rules for senders' : 'Rules for recipients'}
      actions={
        <Button icon="plus" onClick={() => setIsAdding(true)}>
          New rule for {direction === 'inbound' ? 'senders' : 'recipients'}
        </Button>
      }
    >
      {rules.length === 0 ? (
        <p class="muted">No rules apply.</p>
      ) : (
        <ul class="panel event-lines">
          {rules.map((rule) => (
            <li key={rule.id}>
              <Badge tone={rule.type === 'block' ? 'bad' : 'good'}>
                {rule.type === 'block' ? 'Block' : 'Allow'}
              </Badge>
              <span class="event-subject">{rule.value}</span>
              <span class="muted">
                {own.has(rule.id) ? 'set here' : `from the ${widthOf(rule)}`}
              </span>
              {own.has(rule.id) && (
                <ActionButton
                  kind="quiet"
                  icon="trash"
                  label={`Remove the rule for ${rule.value}`}
                  action={() => attempt(() => client.policy.deleteRule(rule.id))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {isAdding && (
        <AddRule
          onClose={() => setIsAdding(false)}
          submit={async (type, value) => {
            setIsAdding(false)
            await attempt(() =>
              client.policy.createRule({ direction, type, value }, scopeOf(place)),
            )
          }}
        />
      )}
    </Section>
  )
}

function widthOf({ podId, inboxId }: Rule): string {
  return inboxId !== null ? 'inbox' : podId !== null ? 'pod' : 'account'
}

function AddRule({
  submit,
  onClose,
}: {
  submit: (type: Rule['type'], value: string) => Promise<void>
  onClose: () => void
}) {
  const [type, setType] = useState<Rule['type']>('allow')
  const [value, setValue] = useState('')
  return (
    <FormDialog
      title="New rule"
      action={type === 'block' ? 'Block' : 'Allow'}
      isDisabled={value.trim() === ''}
      submit={() => submit(type, value.trim())}
      onClose={onClose}
    >
      {() => (
        <>
          <Choice
            label="Action"
            value={type}
            options={[
              { value: 'allow', text: 'Allow' },
              { value: 'block', text: 'Block' },
            ]}
            onValue={setType}
          />
          <TextField
            label="Address or domain"
            name="value"
            value={value}
            onValue={setValue}
            hint="ann@example.com, example.com with its subdomains, or *.example.com."
            autocomplete="off"
            autofocus
          />
        </>
      )}
    </FormDialog>
  )
}
