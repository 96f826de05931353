// Making an inbox: its address, its name, its pod.

import type { Pod } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { podName } from './pod-name.ts'

export function CreateInbox({
  pods,
  podId,
  onClose,
}: {
  pods: readonly Pod[]
  podId: string
  onClose: () => void
}) {
  const { route } = useLocation()
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [pod, setPod] = useState(podId)
  const [domain, setDomain] = useState('')
  const domains = useResource('domains', (signal) =>
    client.domains.list({ limit: 100, signal }).page(),
  )
  const usable = (domains.value?.data ?? []).filter(
    ({ status }) => status === 'verified' || status === 'degraded',
  )
  return (
    <FormDialog
      title="New inbox"
      action="Create inbox"
      onClose={onClose}
      submit={async () => {
        const inbox = await client.inboxes.create({
          ...(name.trim() !== '' && { mailboxName: name.trim().toLowerCase() }),
          ...(displayName.trim() !== '' && { displayName: displayName.trim() }),
          ...(pod !== '' && { podId: pod }),
          ...(domain !== '' && { domain }),
        })
        toast(`${inbox.address} is ready`)
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
            error={fields.mailboxName}
            hint="The part before the @: 3 to 30 letters, digits, dots and hyphens. Leave empty for a random name."
            autocomplete="off"
            spellcheck={false}
            autofocus
          />
          <TextField
            label="Display name"
            name="displayName"
            value={displayName}
            onValue={setDisplayName}
            error={fields.displayName}
            hint="The name that recipients see next to the address."
            autocomplete="off"
          />
          <div class="form-row">
            {usable.length > 0 && (
              <SelectField
                label="Domain"
                name="domain"
                value={domain}
                onValue={setDomain}
                options={[
                  { value: '', text: 'Default domain' },
                  ...usable.map((one) => ({ value: one.domain, text: one.domain })),
                ]}
              />
            )}
            {pods.length > 1 && (
              <SelectField
                label="Pod"
                name="podId"
                value={pod}
                onValue={setPod}
                options={[
                  { value: '', text: 'Default pod' },
                  ...pods
                    .filter(({ isDefault }) => !isDefault)
                    .map((one) => ({ value: one.id, text: podName(one) })),
                ]}
              />
            )}
          </div>
        </>
      )}
    </FormDialog>
  )
}
