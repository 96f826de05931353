// The form of a rule for senders or recipients.

import { useState } from 'preact/hooks'
import { localMinute } from '#data/format.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '#parts/field.tsx'
import { Choice } from '#parts/small.tsx'
import type { Direction } from './policy-words.ts'

const NOTE_LENGTH_MAX = 500

export type RuleFields = {
  type: 'allow' | 'block'
  value: string
  expiresAt: string | null
  note: string | null
  requireVerified?: boolean
}

export function RuleDialog({
  direction,
  rule,
  places,
  submit,
  onClose,
}: {
  direction: Direction
  /** The rule to change. */
  rule: RuleFields | null
  places?: readonly { value: string; text: string }[]
  submit: (fields: RuleFields, place: string) => Promise<void>
  onClose: () => void
}) {
  const people = direction === 'inbound' ? 'sender' : 'recipient'
  const [type, setType] = useState(rule?.type ?? 'block')
  const [value, setValue] = useState(rule?.value ?? '')
  const [place, setPlace] = useState('')
  const oldEnd = rule?.expiresAt ?? null
  const oldMinute = oldEnd === null ? '' : localMinute(new Date(oldEnd))
  const [end, setEnd] = useState(oldMinute)
  const [note, setNote] = useState(rule?.note ?? '')
  const [isVerifiedOnly, setIsVerifiedOnly] = useState(rule?.requireVerified ?? true)
  const send = async () => {
    const newEnd = end === '' ? null : new Date(end).toISOString()
    // The field has no seconds.
    const expiresAt = end === oldMinute ? oldEnd : newEnd
    if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) {
      throw new Error('The rule must end in the future.')
    }
    const fields = { type, value: value.trim(), expiresAt, note: note.trim() || null }
    const isProof = direction === 'inbound' && type === 'allow'
    await submit({ ...fields, ...(isProof && { requireVerified: isVerifiedOnly }) }, place)
  }
  return (
    <FormDialog
      title={rule === null ? `New ${people} rule` : `Rule for ${rule.value}`}
      action={rule !== null ? 'Change rule' : type === 'block' ? 'Block' : 'Allow'}
      onClose={onClose}
      isDisabled={value.trim() === ''}
      submit={send}
    >
      {(fields) => (
        <>
          {rule === null && (
            <>
              <Choice
                label="Action"
                value={type}
                options={[
                  { value: 'block', text: 'Block' },
                  { value: 'allow', text: 'Allow' },
                ]}
                onValue={setType}
              />
              <TextField
                label="Address or domain"
                name="value"
                value={value}
                onValue={setValue}
                error={fields.value}
                hint="ann@example.com, example.com with its subdomains, or *.example.com."
                spellcheck={false}
                autocomplete="off"
                autofocus
              />
            </>
          )}
          {places !== undefined && rule === null && (
            <SelectField
              label="Applies to"
              name="place"
              value={place}
              onValue={setPlace}
              options={places}
            />
          )}
          <TextField
            label="Ends on (optional)"
            name="expiresAt"
            type="datetime-local"
            value={end}
            onValue={setEnd}
            error={fields.expiresAt}
            hint="From then on, the rule no longer applies. It stays in the list until you remove it."
          />
          <TextField
            label="Note (optional)"
            name="note"
            value={note}
            onValue={setNote}
            error={fields.note}
            maxLength={NOTE_LENGTH_MAX}
            autocomplete="off"
          />
          {direction === 'inbound' && type === 'allow' && (
            <CheckField
              label="Only if the sender is verified"
              name="requireVerified"
              hint="Otherwise anyone can bypass the rule with that address in the From header."
              isChecked={isVerifiedOnly}
              onChecked={setIsVerifiedOnly}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
