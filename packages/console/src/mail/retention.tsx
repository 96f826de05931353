// How long mail of an inbox, a pod or the account is kept, and when an inbox expires.

import type { Inbox, Pod } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatMoment, localMinute, plural, podName } from '#data/format.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Notice, Skeleton, Trouble } from '#parts/notice.tsx'

/** The retention in effect, in a sentence or two; '' if nothing is ever deleted. */
export function retentionWords({ effectiveRetentionDays: days, expiresAt }: Inbox): string {
  const words = [
    days !== null && `Messages are removed after ${plural(days, 'day')}.`,
    expiresAt !== null && `The inbox deletes itself on ${formatMoment(expiresAt)}.`,
  ]
  return words.filter((text) => text !== false).join(' ')
}

export function InboxRetention({
  inbox,
  onClose,
  onDone,
}: {
  inbox: Inbox
  onClose: () => void
  onDone: (changed: Inbox) => void
}) {
  const [days, setDays] = useState(daysText(inbox.retentionDays))
  const shownExpiry = inbox.expiresAt === null ? '' : localMinute(new Date(inbox.expiresAt))
  const [expiresAt, setExpiresAt] = useState(shownExpiry)
  const isShorter = days !== '' && days !== daysText(inbox.retentionDays)
  return (
    <FormDialog
      title={`How long ${inbox.address} keeps mail`}
      action="Save"
      onClose={onClose}
      submit={async () => {
        const change = {
          retentionDays: daysOf(days),
          ...(expiresAt !== shownExpiry && {
            expiresAt: expiresAt === '' ? null : new Date(expiresAt).toISOString(),
          }),
        }
        onDone(await client.inboxes.update(inbox.id, change))
      }}
    >
      {(fields) => (
        <>
          <p>{retentionWords(inbox) || 'Messages and the inbox are kept forever.'}</p>
          <DaysField
            name="retentionDays"
            label="Days that a message is kept"
            value={days}
            onValue={setDays}
            error={fields.retentionDays}
            hint="Leave empty to use the setting of the pod or the account."
          />
          <TextField
            label="The inbox deletes itself on"
            name="expiresAt"
            type="datetime-local"
            value={expiresAt}
            onValue={setExpiresAt}
            error={fields.expiresAt && `The time ${fields.expiresAt}.`}
            hint="Leave empty to keep the inbox."
          />
          {isShorter && <OlderIsLost />}
          {expiresAt !== '' && (
            <Notice tone="warn" title="The inbox is then deleted with all its mail">
              Threads, messages and files are lost, mail to the address is refused, and nobody can
              restore it.
            </Notice>
          )}
        </>
      )}
    </FormDialog>
  )
}

/** Retention of the account and of each pod. */
export function WiderRetention({
  pods,
  onClose,
  onDone,
}: {
  pods: readonly Pod[]
  onClose: () => void
  onDone: () => void
}) {
  const account = useResource('retention account', (signal) => client.account.get({ signal }))
  const [changes, setChanges] = useState<Readonly<Record<string, string>>>({})
  const own = daysText(account.value?.retentionDays ?? null)
  const put = (name: string) => (text: string) => setChanges({ ...changes, [name]: text })
  const save = async () => {
    const days = changes[ACCOUNT]
    if (days !== undefined) await client.account.update({ retentionDays: daysOf(days) })
    for (const { id } of pods) {
      const text = changes[id]
      if (text !== undefined) await client.pods.update(id, { retentionDays: daysOf(text) })
    }
    onDone()
  }
  return (
    <FormDialog title="How long mail is kept" action="Save" onClose={onClose} submit={save}>
      {(fields) => {
        if (account.error) return <Trouble error={account.error} retry={account.reload} />
        if (account.value === undefined) return <Skeleton rows={2} label="Loading" />
        return (
          <>
            {fields.retentionDays && (
              <p class="field-error">The number of days {fields.retentionDays}.</p>
            )}
            <DaysField
              name={ACCOUNT}
              label="Days in the account"
              value={changes[ACCOUNT] ?? own}
              onValue={put(ACCOUNT)}
              hint="Leave empty to keep messages. A pod or an inbox can have its own setting."
            />
            {pods.map((pod) => (
              <DaysField
                key={pod.id}
                name={pod.id}
                label={`Days in the pod ${podName(pod)}`}
                value={changes[pod.id] ?? daysText(pod.retentionDays)}
                onValue={put(pod.id)}
                hint="Leave empty to use the setting of the account."
              />
            ))}
            {Object.values(changes).some((text) => text !== '') && <OlderIsLost />}
          </>
        )
      }}
    </FormDialog>
  )
}

const ACCOUNT = 'account'

function OlderIsLost() {
  return (
    <Notice tone="warn" title="Older messages are removed soon after you save">
      Messages, including those in the trash, are lost with their files and cannot be restored.
    </Notice>
  )
}

function DaysField(props: {
  name: string
  label: string
  value: string
  onValue: (value: string) => void
  error?: string | undefined
  hint: string
}) {
  const { error, ...rest } = props
  return (
    <TextField
      {...rest}
      error={error && `The number ${error}.`}
      type="number"
      min={1}
      placeholder="Not set"
      autocomplete="off"
    />
  )
}

function daysText(days: number | null): string {
  return days === null ? '' : String(days)
}

function daysOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}
