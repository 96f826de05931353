// The form of a webhook: its URL, and the events that it receives.

import { type EventKind, eventKinds } from '@mailroom/contract/vocabulary.ts'
import type { Webhook } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { useResource } from '#data/use-resource.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '#parts/field.tsx'

export type WebhookFields = { url: string; eventTypes: EventKind[]; inboxIds: string[] }

/** A test always reaches the webhook that is tested. */
const kindsToChoose = eventKinds.filter((kind) => kind !== 'webhook.test')

export function WebhookForm({
  title,
  action,
  webhook,
  save,
  onClose,
}: {
  title: string
  action: string
  webhook?: Webhook
  save: (fields: WebhookFields) => Promise<unknown>
  onClose: () => void
}) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [kinds, setKinds] = useState<readonly EventKind[]>(webhook?.eventTypes ?? [])
  const [inboxId, setInboxId] = useState(webhook?.inboxIds[0] ?? '')
  const inboxes = useResource('webhook inboxes', (signal) => readInboxChoices([inboxId], signal))
  // Filters that this form cannot show stay unchanged.
  const hasMany = (webhook?.inboxIds.length ?? 0) > 1
  const inboxIds = hasMany ? (webhook?.inboxIds ?? []) : inboxId === '' ? [] : [inboxId]
  return (
    <FormDialog
      title={title}
      action={action}
      onClose={onClose}
      submit={() => save({ url: url.trim(), eventTypes: [...kinds], inboxIds })}
    >
      {(fields) => (
        <>
          <TextField
            label="URL"
            name="url"
            type="url"
            value={url}
            onValue={setUrl}
            error={fields.url}
            placeholder="https://example.com/hooks/mailroom"
            hint="An https URL on port 443 or 80 that the public Internet can reach. Plain http and private addresses work only where the operator allows them (MAILROOM_ALLOW_PRIVATE_EGRESS)."
            required
            autocomplete="off"
            spellcheck={false}
            autofocus
          />
          <fieldset class="stack">
            <legend class="unseen">Events to deliver</legend>
            <p class="hint">Events to deliver. Select none to receive all.</p>
            <div class="kind-filter">
              {kindsToChoose.map((kind) => (
                <CheckField
                  key={kind}
                  label={kind}
                  name={kind}
                  isChecked={kinds.includes(kind)}
                  onChecked={(isChecked) =>
                    setKinds(isChecked ? [...kinds, kind] : kinds.filter((one) => one !== kind))
                  }
                />
              ))}
            </div>
          </fieldset>
          {!hasMany && (
            <SelectField
              label="Inbox"
              name="inbox"
              value={inboxId}
              onValue={setInboxId}
              error={fields.inboxIds}
              options={[{ value: '', text: 'All inboxes' }, ...inboxOptions(inboxes.value)]}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
