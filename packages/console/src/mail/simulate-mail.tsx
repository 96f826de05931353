// A form that simulates received mail in the sandbox.

import { useState } from 'preact/hooks'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button, type ButtonProps } from '#parts/button.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { AreaField, SelectField, TextField } from '#parts/field.tsx'

const INBOXES_MAX = 100

export function SimulateButton({
  address,
  ...button
}: { address?: string } & Pick<ButtonProps, 'kind' | 'icon' | 'isDisabled'>) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setIsOpen(true)}>
        Simulate inbound mail
      </Button>
      {isOpen && <SimulateMail address={address ?? ''} onClose={() => setIsOpen(false)} />}
    </>
  )
}

function SimulateMail({
  address,
  onClose,
}: {
  /** The initially selected recipient; the newest inbox if empty. */
  address: string
  onClose: () => void
}) {
  const inboxes = useResource('inboxes to receive', (signal) =>
    client.inboxes.list({ limit: INBOXES_MAX, signal }).page(),
  )
  const addresses = (inboxes.value?.data ?? []).map(({ address }) => address)
  const [to, setTo] = useState(address)
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
        const [message] = data
        if (message === undefined) toast('Quarantined by a sender rule', null, paths.quarantine)
        else toast('Delivered to the inbox', null, paths.thread(message.inboxId, message.threadId))
        onClose()
      }}
    >
      {(fields) => (
        <>
          {inboxes.value !== undefined && addresses.length === 0 && (
            <p class="hint">
              There is no inbox yet. <a href={paths.inboxes}>Create an inbox</a> first.
            </p>
          )}
          <SelectField
            label="To"
            name="to"
            value={to || (addresses[0] ?? '')}
            onValue={setTo}
            options={addresses.map((one) => ({ value: one, text: one }))}
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
