// The policy of the account, a pod or an inbox: what is set here, what is inherited, and from
// where.

import { useRef, useState } from 'preact/hooks'
import { podName, readPerson } from '#data/format.ts'
import { client, isApprover } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { usePolicyAccess } from './policy-access.tsx'
import { PolicyChanges } from './policy-changes.tsx'
import { PolicyForm, type PolicyPair } from './policy-form.tsx'

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

async function readPolicies(place: string, signal?: AbortSignal): Promise<PolicyPair> {
  const bounds = signal && { signal }
  const policy = await client.policy.get({ ...scopeOf(place), ...bounds })
  const { podId, inboxId } = policy.scope
  if (podId === null) return { policy, wider: null }
  const wider = await client.policy.get({ ...(inboxId !== null && { podId }), ...bounds })
  return { policy, wider }
}

export function PolicyPage() {
  const [place, setPlace] = useState('')
  const [asked, setAsked] = useState<string | null>(null)
  const isDirty = useRef(false)
  const access = usePolicyAccess()
  const places = useResource('places of policies', readPlaces)
  const pair = useResource(`policy ${place}`, (signal) => readPolicies(place, signal))
  const [saves, setSaves] = useState(0)
  const choose = (next: string) => (isDirty.current ? setAsked(next) : setPlace(next))
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
            onValue={choose}
          />
        </div>
        {isApprover.value && <OtherInbox known={places.value ?? []} onInbox={choose} />}
        {pair.value !== undefined && access !== undefined ? (
          <PolicyForm
            key={place}
            {...pair.value}
            access={access}
            load={() => readPolicies(place)}
            onSaved={(next) => {
              pair.replace(() => next)
              setSaves(saves + 1)
            }}
            onDirty={(isNow) => {
              isDirty.current = isNow
            }}
          />
        ) : pair.error ? (
          <Trouble error={pair.error} retry={pair.reload} />
        ) : (
          <Skeleton label="Loading the policy" />
        )}
        <PolicyChanges places={places.value ?? [account]} saves={saves} />
      </div>
      {asked !== null && (
        <ConfirmDialog
          title="Discard the unsaved changes?"
          action="Discard changes"
          onClose={() => setAsked(null)}
          submit={async () => {
            setPlace(asked)
            setAsked(null)
          }}
        >
          <p>The changes of this policy have not been saved.</p>
        </ConfirmDialog>
      )}
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
