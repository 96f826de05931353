// The form for editing a held message.

import { shownLine } from '@mailroom/mail/unseen.ts'
import type { WholeReview } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { splitRecipients } from '#data/recipients.ts'
import type { client } from '#data/session.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { AreaField, CheckField, TextField } from '#parts/field.tsx'

export type ReviewChanges = Omit<Parameters<typeof client.reviews.edit>[1], 'digest'>

export function EditDialog({
  review: { content },
  submit,
  onClose,
}: {
  review: WholeReview
  submit: (changes: ReviewChanges) => Promise<void>
  onClose: () => void
}) {
  const written = {
    to: content.to.join(', '),
    cc: content.cc.join(', '),
    bcc: content.bcc.join(', '),
    subject: content.subject,
    body: content.bodyText,
  }
  const [typed, setTyped] = useState(written)
  const [removed, setRemoved] = useState<readonly string[]>([])
  const isChanged = (name: keyof typeof written) => typed[name] !== written[name]
  const field = (name: keyof typeof written, fields: Readonly<Record<string, string>>) => ({
    name,
    value: typed[name],
    // Errors of recipients have paths such as `to[0]`.
    error: Object.entries(fields).find(([path]) => path.split('[')[0] === name)?.[1],
    onValue: (value: string) => setTyped((before) => ({ ...before, [name]: value })),
  })
  const changes = (): ReviewChanges => ({
    ...(isChanged('to') && { to: splitRecipients(typed.to) }),
    ...(isChanged('cc') && { cc: splitRecipients(typed.cc) }),
    ...(isChanged('bcc') && { bcc: splitRecipients(typed.bcc) }),
    ...(isChanged('subject') && { subject: typed.subject }),
    ...(isChanged('body') && { body: typed.body }),
    ...(removed.length > 0 && { removeAttachments: [...removed] }),
  })
  return (
    <FormDialog
      title="Edit the message"
      action="Save"
      size="wide"
      isDisabled={Object.keys(changes()).length === 0}
      submit={() => submit(changes())}
      onClose={onClose}
    >
      {(fields) => (
        <>
          <TextField label="To" autofocus {...field('to', fields)} />
          <TextField label="Cc" {...field('cc', fields)} />
          <TextField label="Bcc" {...field('bcc', fields)} />
          <TextField label="Subject" {...field('subject', fields)} />
          <AreaField
            label="Text"
            rows={12}
            hint={
              content.bodyHtml === ''
                ? undefined
                : 'If you change the text, the HTML version is removed, or made again if the message was written in Markdown.'
            }
            {...field('body', fields)}
          />
          {content.attachments.map(({ filename }) => (
            <CheckField
              key={filename}
              label={`Remove ${shownLine(filename)}`}
              name="removeAttachments"
              isChecked={removed.includes(filename)}
              onChecked={(isChecked) =>
                setRemoved((before) =>
                  isChecked ? [...before, filename] : before.filter((one) => one !== filename),
                )
              }
            />
          ))}
          <p class="hint">
            The policy judges the edited message, which stays held until an approver approves it.
          </p>
        </>
      )}
    </FormDialog>
  )
}
