// The fields of the composer.

import type { Message } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import type { ComposedMessage } from '#data/composed-message.ts'
import { formatMoment, formatWhole, localMinute, plural, readPerson } from '#data/format.ts'
import type { Draft } from '#data/open-draft.ts'
import { Button } from '#parts/button.tsx'
import { AreaField, CheckField, TextField } from '#parts/field.tsx'
import { Facts, reachable } from '#parts/small.tsx'

const SUBJECT_LENGTH_MAX = 998

type FieldsProps = {
  composed: ComposedMessage
  draft: Draft
  errors: Readonly<Record<string, string>>
  onComposed: (composed: ComposedMessage) => void
}

export function MessageFields({ composed, draft, errors, onComposed }: FieldsProps) {
  const { replied, forwarded } = draft
  const isNew = replied === null && forwarded === null
  return (
    <>
      <AddressFields {...{ composed, draft, errors, onComposed }} />
      <TextField
        label="Subject"
        name="subject"
        value={composed.subject}
        onValue={(subject) => onComposed({ ...composed, subject })}
        error={errors.subject}
        required={isNew}
        readOnly={!isNew}
        maxLength={SUBJECT_LENGTH_MAX}
        autocomplete="off"
      />
      <AreaField
        label={forwarded === null ? 'Message' : 'Message (optional)'}
        name="body"
        value={composed.body}
        onValue={(body) => onComposed({ ...composed, body })}
        error={errors.body}
        rows={isNew ? 10 : replied === null ? 4 : 6}
        required={forwarded === null}
        autofocus={draft.to !== ''}
      />
      {replied && (
        <CheckField
          label="Quote the original message"
          name="quote"
          isChecked={composed.isQuoting}
          onChecked={(isQuoting) => onComposed({ ...composed, isQuoting })}
        />
      )}
    </>
  )
}

const optional = [
  { name: 'cc', label: 'Cc', hint: undefined },
  { name: 'bcc', label: 'Bcc', hint: 'These recipients are hidden from all other recipients.' },
  { name: 'replyTo', label: 'Reply-To', hint: 'One address, which receives the replies.' },
] as const

/** Shows To; Cc, Bcc and Reply-To appear on request or if they have text. */
function AddressFields({ composed, draft, errors, onComposed }: FieldsProps) {
  const [asked, setAsked] = useState<readonly string[]>([])
  // A forward has no Reply-To field.
  const others = optional.filter(({ name }) => name !== 'replyTo' || draft.forwarded === null)
  const isShown = ({ name }: (typeof optional)[number]) =>
    asked.includes(name) || composed[name] !== ''
  const hidden = others.filter((one) => !isShown(one))
  return (
    <>
      <div class="field-beside">
        <TextField
          label="To"
          name="to"
          value={composed.to}
          onValue={(to) => onComposed({ ...composed, to })}
          error={errors.to}
          hint={hintOf(draft)}
          required
          autocomplete="off"
          spellcheck={false}
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
        <TextField
          key={name}
          label={label}
          name={name}
          value={composed[name]}
          onValue={(text) => onComposed({ ...composed, [name]: text })}
          error={errors[name]}
          hint={hint}
          autocomplete="off"
          spellcheck={false}
          autofocus={asked.includes(name)}
        />
      ))}
    </>
  )
}

function hintOf({ everybody, replied }: Draft): string {
  if (everybody !== null) {
    return 'Everyone who received the message, except addresses on the suppression list.'
  }
  return replied?.deliveryRole === 'cc'
    ? `${readPerson(replied.fromAddr).address}, who copied this inbox, gets a copy too.`
    : 'Addresses, separated by commas.'
}

/** Send now or at a chosen time. */
export function ScheduleField({
  sendAt,
  error,
  onSendAt,
}: {
  sendAt: string | null
  error: string | undefined
  onSendAt: (sendAt: string | null) => void
}) {
  const at = new Date(sendAt ?? '')
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <>
      <CheckField
        label="Send later"
        name="later"
        isChecked={sendAt !== null}
        onChecked={(isLater) => onSendAt(isLater ? tomorrowMorning() : null)}
      />
      {sendAt !== null && (
        <TextField
          label={`Date and time (${zone})`}
          name="sendAt"
          type="datetime-local"
          value={sendAt}
          onValue={onSendAt}
          error={error && `The time ${error}.`}
          hint={Number.isNaN(at.getTime()) ? undefined : `That is ${formatMoment(at)}.`}
          required
          autofocus
        />
      )}
    </>
  )
}

const MORNING_HOUR = 9

function tomorrowMorning(): string {
  const at = new Date()
  at.setDate(at.getDate() + 1)
  at.setHours(MORNING_HOUR, 0)
  return localMinute(at)
}

/** The text appended to a forward. */
export function Forwarded({
  message,
  isWithFiles,
  error,
  onWithFiles,
}: {
  message: Message
  isWithFiles: boolean
  error: string | undefined
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
      {error && <p class="field-error">{error}</p>}
      <section class="forwarded" aria-label="Forwarded message" {...reachable}>
        <Facts lines={lines} />
        <div class="mail-text">{bodyText}</div>
      </section>
    </>
  )
}
