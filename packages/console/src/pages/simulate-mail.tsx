// A form that simulates received mail in the sandbox.

import { useState } from 'preact/hooks'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { AreaField, SelectField, TextField } from '#parts/field.tsx'

const INBOXES_MAX = 100

export function SimulateMail({ onClose }: { onClose: () => void }) {
  const inboxes = useResource('inboxes to receive', (signal) =>
    client.inboxes.list({ limit: INBOXES_MAX, signal }).page(),
  )
  const addresses = (inboxes.value?.data ?? []).map(({ address }) => address)
  const [to, setTo] = useState('')
  const [from, setFrom] = useState('ann@example.com')
  const [subject, setSubject] = useState('')
  const [text, setText] = useState('')
  return (
    <FormDialog
      title="Simulate inbound mail"
      action="Simulate"
      onClose={onClose}
      isDisabled={addresses.length === 0}
      submit={async () => {
        const { data } = await client.sandbox.receive({
          from: from.trim(),
          to: to === '' ? (addresses[0] ?? '') : to,
          subject,
          text,
        })
        toast(data.length > 0 ? 'Delivered to the inbox' : 'Quarantined by a sender rule')
        onClose()
      }}
    >
      {(fields) => (
        <>
          {inboxes.value !== undefined && addresses.length === 0 && (
            <p class="hint">
              There is no inbox yet: <a href={paths.inboxes}>create one</a> first.
            </p>
          )}
          <SelectField
            label="To"
            name="to"
            value={to}
            onValue={setTo}
            options={addresses.map((address, index) => ({
              value: index === 0 ? '' : address,
              text: address,
            }))}
          />
          <TextField
            label="From"
            name="from"
            value={from}
            onValue={setFrom}
            error={fields.from}
            spellcheck={false}
            autocomplete="off"
          />
          <TextField
            label="Subject"
            name="subject"
            value={subject}
            onValue={setSubject}
            error={fields.subject}
            autocomplete="off"
            autofocus
          />
          <AreaField
            label="Text"
            name="text"
            value={text}
            onValue={setText}
            error={fields.text}
            rows={8}
          />
        </>
      )}
    </FormDialog>
  )
}
