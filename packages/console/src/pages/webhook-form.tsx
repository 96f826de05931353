// The form of a webhook: its URL, events and kinds of mail.

import { type EventKind, eventKinds } from '@mailroom/contract/vocabulary.ts'
import type { Webhook } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { useResource } from '#data/use-resource.ts'
import { type Category, categoryChoices } from '#mail/category.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '#parts/field.tsx'

export type WebhookFields = {
  url: string
  eventTypes: EventKind[]
  categories: Category[]
  inboxIds: string[]
}

/** Test events are always delivered, so the form does not offer them. */
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
  const [categories, setCategories] = useState<readonly Category[]>(webhook?.categories ?? [])
  const [inboxId, setInboxId] = useState(webhook?.inboxIds[0] ?? '')
  const inboxes = useResource('webhook inboxes', (signal) => readInboxChoices([inboxId], signal))
  // Filters that this form cannot show are left unchanged.
  const hasMany = (webhook?.inboxIds.length ?? 0) > 1
  const inboxIds = hasMany ? (webhook?.inboxIds ?? []) : inboxId === '' ? [] : [inboxId]
  return (
    <FormDialog
      title={title}
      action={action}
      onClose={onClose}
      submit={() =>
        save({ url: url.trim(), eventTypes: [...kinds], categories: [...categories], inboxIds })
      }
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
          <Choices
            legend="Events to deliver"
            hint="Events to deliver. Select none to receive all."
            options={kindsToChoose.map((kind) => ({ value: kind, text: kind }))}
            chosen={kinds}
            onChosen={setKinds}
          />
          <Choices
            legend="Kinds of mail"
            hint="Limits events of received mail to these kinds. Select none to receive all. Other events are not affected."
            options={categoryChoices}
            chosen={categories}
            onChosen={setCategories}
          />
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

function Choices<Value extends string>({
  legend,
  hint,
  options,
  chosen,
  onChosen,
}: {
  legend: string
  hint: string
  options: readonly { value: Value; text: string }[]
  chosen: readonly Value[]
  onChosen: (chosen: readonly Value[]) => void
}) {
  return (
    <fieldset class="stack">
      <legend class="unseen">{legend}</legend>
      <p class="hint">{hint}</p>
      <div class="kind-filter">
        {options.map(({ value, text }) => (
          <CheckField
            key={value}
            label={text}
            name={value}
            isChecked={chosen.includes(value)}
            onChecked={(isChecked) =>
              onChosen(isChecked ? [...chosen, value] : chosen.filter((one) => one !== value))
            }
          />
        ))}
      </div>
    </fieldset>
  )
}
