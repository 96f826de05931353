// A form that creates an inbox. It shows the resulting address and the first broken rule of its name
// while a person types.

import { MAILBOX_NAME_LENGTH_MIN, mailboxNameDefect } from '@mailroom/contract/mailbox-name.ts'
import { MailroomError } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { podName } from '#data/format.ts'
import { readInboxes } from '#data/inbox-list.ts'
import { paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { SelectField, TextField } from '#parts/field.tsx'

export function CreateInbox({ podId = '', onClose }: { podId?: string; onClose: () => void }) {
  const { route } = useLocation()
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [pod, setPod] = useState(podId)
  const [domain, setDomain] = useState('')
  const [isTried, setIsTried] = useState(false)
  const [taken, setTaken] = useState<string | null>(null)
  const pods = useResource('pods', (signal) => client.pods.list({ limit: 100, signal }).page())
  const wanted = name.trim().toLowerCase()
  const defect = wanted === '' ? null : mailboxNameDefect(wanted)
  const address = `${wanted}@${domain || session.value?.inboxDomain}`
  const create = async () => {
    try {
      return await client.inboxes.create({
        ...(wanted !== '' && { mailboxName: wanted }),
        ...(displayName.trim() !== '' && { displayName: displayName.trim() }),
        ...(pod !== '' && { podId: pod }),
        ...(domain !== '' && { domain }),
      })
    } catch (error) {
      if (error instanceof MailroomError && error.code === 'address_taken') setTaken(address)
      throw error
    }
  }
  // A name is not reported as too short while it is being typed.
  const shownDefect = isTried || wanted.length >= MAILBOX_NAME_LENGTH_MIN ? defect : null
  const nameError = taken === address ? `${address} is in use or reserved.` : shownDefect
  return (
    <FormDialog
      title="New inbox"
      action="Create inbox"
      onClose={onClose}
      submit={async () => {
        setIsTried(true)
        if (defect !== null) return
        const inbox = await create()
        toast(`${inbox.address} is ready`)
        void readInboxes()
        onClose()
        route(paths.inbox(inbox.id))
      }}
    >
      {(fields) => (
        <>
          <TextField
            label="Mailbox name"
            name="mailboxName"
            value={name}
            onValue={setName}
            error={nameError ?? undefined}
            hint="3 to 30 characters: the letters a to z, digits, dots and hyphens. Two letters, such as hr, are too short. Leave the field empty for a random name."
            autocomplete="off"
            spellcheck={false}
            autofocus
          />
          <DomainChoice domain={domain} onDomain={setDomain} />
          <p class="new-address" role="status">
            <span class="muted">Address</span>{' '}
            <code>{wanted === '' ? `…${address}` : address}</code>
          </p>
          <TextField
            label="Display name"
            name="displayName"
            value={displayName}
            onValue={setDisplayName}
            error={fields.displayName}
            hint="The name that recipients see next to the address."
            autocomplete="off"
          />
          {pods.value !== undefined && pods.value.data.length > 1 && (
            <SelectField
              label="Pod"
              name="podId"
              value={pod}
              onValue={setPod}
              options={[
                { value: '', text: 'Default pod' },
                ...pods.value.data
                  .filter(({ isDefault }) => !isDefault)
                  .map((one) => ({ value: one.id, text: podName(one) })),
              ]}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

function DomainChoice({
  domain,
  onDomain,
}: {
  domain: string
  onDomain: (domain: string) => void
}) {
  const domains = useResource('domains', (signal) =>
    client.domains.list({ limit: 100, signal }).page(),
  )
  const usable = (domains.value?.data ?? []).filter(
    ({ status }) => status === 'verified' || status === 'degraded',
  )
  return (
    <SelectField
      label="Domain"
      name="domain"
      value={domain}
      onValue={onDomain}
      hint={
        usable.length === 0 && (
          <>
            Verify a <a href={paths.domains}>domain of your own</a> to use it here.
          </>
        )
      }
      options={[
        { value: '', text: session.value?.inboxDomain ?? '' },
        ...usable.map((one) => ({ value: one.domain, text: one.domain })),
      ]}
    />
  )
}
