// The fields of the composer.

import type { Message } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import type { ComposedMessage, Draft } from '#data/composed-message.ts'
import { formatMoment, formatWhole, localMinute, plural, readPerson } from '#data/format.ts'
import { Button } from '#parts/button.tsx'
import { AreaField, CheckField, TextField } from '#parts/field.tsx'
import { Facts, reachable } from '#parts/small.tsx'
import { RecipientField } from './recipient-field.tsx'

const SUBJECT_LENGTH_MAX = 998
const ROWS_MAX = 16

type FieldsProps = {
  composed: ComposedMessage
  draft: Draft
  inboxId: string
  errors: Readonly<Record<string, string>>
  onComposed: (composed: ComposedMessage) => void
}

export function MessageFields({ composed, draft, inboxId, errors, onComposed }: FieldsProps) {
  const { replied, forwarded } = draft
  const isNew = replied === null && forwarded === null
  const rows = Math.min(ROWS_MAX, composed.body.split('\n').length + 1)
  return (
    <>
      <AddressFields {...{ composed, draft, inboxId, errors, onComposed }} />
      {isNew && (
        <TextField
          label="Subject"
          name="subject"
          value={composed.subject}
          onValue={(subject) => onComposed({ ...composed, subject })}
          error={errors.subject}
          required
          maxLength={SUBJECT_LENGTH_MAX}
          autocomplete="off"
        />
      )}
      <AreaField
        label={forwarded === null ? 'Message' : 'Message (optional)'}
        name="body"
        isLabelHidden
        placeholder={forwarded === null ? undefined : 'Message (optional)'}
        value={composed.body}
        onValue={(body) => onComposed({ ...composed, body })}
        error={errors.body}
        rows={Math.max(isNew ? 10 : 3, rows)}
        required={forwarded === null}
        autofocus={draft.to !== ''}
      />
    </>
  )
}

const optional = [
  { name: 'cc', label: 'Cc', hint: undefined },
  { name: 'bcc', label: 'Bcc', hint: 'These recipients are hidden from all other recipients.' },
  { name: 'replyTo', label: 'Reply-To', hint: 'One address, which receives the replies.' },
] as const

/** Shows To; Cc, Bcc and Reply-To appear on request or if they have text. */
function AddressFields({ composed, draft, inboxId, errors, onComposed }: FieldsProps) {
  const [asked, setAsked] = useState<readonly string[]>([])
  // A forward has no Reply-To field.
  const others = optional.filter(({ name }) => name !== 'replyTo' || draft.forwarded === null)
  const isShown = ({ name }: (typeof optional)[number]) =>
    asked.includes(name) || composed[name] !== ''
  const hidden = others.filter((one) => !isShown(one))
  return (
    <>
      <div class="field-beside">
        <RecipientField
          label="To"
          name="to"
          inboxId={inboxId}
          value={composed.to}
          onValue={(to) => onComposed({ ...composed, to })}
          error={errors.to}
          hint={hintOf(draft)}
          required
          autofocus={draft.to === ''}
        />
        {hidden.length > 0 && (
          <div class="row">
            {hidden.map(({ name, label }) => (
              <Button
                key={name}
                kind="quiet"
                label={`Add ${label}`}
                onClick={() => setAsked([...asked, name])}
              >
                {label}
              </Button>
            ))}
          </div>
        )}
      </div>
      {others.filter(isShown).map(({ name, label, hint }) => (
        <RecipientField
          key={name}
          label={label}
          name={name}
          inboxId={inboxId}
          value={composed[name]}
          onValue={(text) => onComposed({ ...composed, [name]: text })}
          error={errors[name]}
          hint={hint}
          autofocus={asked.includes(name)}
        />
      ))}
    </>
  )
}

function hintOf({ everybody, replied }: Draft): string | undefined {
  if (everybody !== null) {
    return 'Everyone who received the message, except addresses on the suppression list.'
  }
  return replied?.deliveryRole === 'cc'
    ? `${readPerson(replied.fromAddr).address}, who copied this inbox, gets a copy too.`
    : undefined
}

export function ScheduleField({
  sendAt,
  error,
  onSendAt,
}: {
  sendAt: string
  error: string | undefined
  onSendAt: (sendAt: string) => void
}) {
  const at = new Date(sendAt)
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <TextField
      label={`Date and time (${zone})`}
      name="sendAt"
      type="datetime-local"
      value={sendAt}
      onValue={onSendAt}
      error={error && `The time ${error}.`}
      hint={Number.isNaN(at.getTime()) ? undefined : `Scheduled for ${formatMoment(at)}.`}
      required
      autofocus
    />
  )
}

const MORNING_HOUR = 9

export function tomorrowMorning(): string {
  const at = new Date()
  at.setDate(at.getDate() + 1)
  at.setHours(MORNING_HOUR, 0)
  return localMinute(at)
}

/** The text appended to a forward. */
export function Forwarded({
  message,
  isWithFiles,
  onWithFiles,
}: {
  message: Message
  isWithFiles: boolean
  onWithFiles: (isWithFiles: boolean) => void
}) {
  const { fromAddr, createdAt, to, cc, subject, bodyText, attachments } = message
  const names = attachments.map(({ filename }) => filename).join(', ')
  const lines = [
    ['From', fromAddr],
    ['Date', formatWhole(createdAt)],
    ['Subject', subject],
    ['To', to.join(', ')],
    ['Cc', cc.join(', ')],
  ] as const
  return (
    <>
      {attachments.length > 0 && (
        <CheckField
          label={`Attach ${plural(attachments.length, 'file')} of the message`}
          name="files"
          hint={names}
          isChecked={isWithFiles}
          onChecked={onWithFiles}
        />
      )}
      <section class="forwarded" aria-label="Forwarded message" {...reachable}>
        <Facts lines={lines} />
        <div class="mail-text">{bodyText}</div>
      </section>
    </>
  )
}
