// The status of a sent message: scheduled, held, failed or sent, and the button that cancels it.

import { MailroomError, type Message, type Review } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatMoment, quoteSubject } from '#data/format.ts'
import { announceMailChange } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { toast, toastFailure } from '#data/toasts.ts'
import { Button, ButtonLink } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { Notice, type Tone } from '#parts/notice.tsx'
import { HoldReasons } from './held-mail.tsx'

type Status = { tone: Tone; word: string }

const unsent: Readonly<Record<string, Status & { text: string }>> = {
  cancelled: {
    tone: 'calm',
    word: 'Cancelled',
    text: 'The message was cancelled before it was sent.',
  },
  rejected: { tone: 'bad', word: 'Rejected', text: 'An approver rejected the message.' },
  review_expired: {
    tone: 'bad',
    word: 'Not approved',
    text: 'The message was not approved in time.',
  },
}

/** Reasons for which a due message can be refused. */
const refusals: Readonly<Record<string, string>> = {
  recipient_suppressed: 'a recipient is on the suppression list',
  recipient_not_permitted: 'the policy does not permit a recipient',
  content_not_permitted: 'the policy does not permit its content',
  rate_limit_exceeded: 'a send limit was reached',
  cold_outreach_limit: 'the limit of new recipients was reached',
  loop_suspected: 'two programs seem to be replying to each other',
  invalid_domain: 'the inbox cannot use its domain',
}

/** The status of a sent message; null for received mail. */
export function statusOf(message: Message, review: Review | undefined): Status | null {
  const { status, failureReason } = message
  if (status === 'received') return null
  if (status === 'sent') return { tone: 'good', word: 'Sent' }
  if (status === 'failed') return unsent[failureReason ?? ''] ?? { tone: 'bad', word: 'Failed' }
  if (isHeld(message, review)) return { tone: 'warn', word: 'Held' }
  return { tone: 'info', word: isScheduled(message) ? 'Scheduled' : 'Queued' }
}

/** Whether the message is waiting or was never sent. */
export function isUnsent(message: Message, review: Review | undefined): boolean {
  if (message.status === 'pending') return isHeld(message, review) || isScheduled(message)
  return message.status === 'failed' && neverSent(message) !== null
}

function isHeld({ status }: Message, review: Review | undefined): boolean {
  return status === 'pending' && review?.status === 'pending'
}

function isScheduled({ scheduledAt }: Message): boolean {
  return scheduledAt !== null && Date.parse(scheduledAt) > Date.now()
}

/** Why the message was never sent; null if it was. */
function neverSent({ failureReason }: Message): string | null {
  const code = failureReason ?? ''
  const known = unsent[code]?.text
  if (known !== undefined) return known
  const refusal = refusals[code]
  return refusal === undefined ? null : `The message was refused at its scheduled time: ${refusal}.`
}

export function StatusNotice({
  message,
  review,
}: {
  message: Message
  review: Review | undefined
}) {
  const { status, failureReason, scheduledAt } = message
  if (isHeld(message, review) && review !== undefined) {
    return (
      <Waiting
        message={message}
        tone="warn"
        title="The message awaits approval by a person"
        link={<ButtonLink href={paths.review(review.id)}>Show review</ButtonLink>}
      >
        <HeldWords reasons={review.reasons} expiresAt={review.expiresAt} />
        {scheduledAt !== null && (
          <p>Once approved, the message is sent on {formatMoment(scheduledAt)}.</p>
        )}
      </Waiting>
    )
  }
  if (status === 'pending' && scheduledAt !== null && isScheduled(message)) {
    return (
      <Waiting message={message} tone="info" title={`Scheduled for ${formatMoment(scheduledAt)}`}>
        The message can be cancelled until then.
      </Waiting>
    )
  }
  if (status !== 'failed') return null
  const text = neverSent(message)
  if (text === null) {
    return (
      <Notice tone="bad" title="Not delivered">
        {failureReason}
      </Notice>
    )
  }
  return (
    <Notice
      tone={unsent[failureReason ?? '']?.tone ?? 'bad'}
      title="Not sent"
      actions={review && <ButtonLink href={paths.review(review.id)}>Show review</ButtonLink>}
    >
      {text}
      {failureReason === 'rejected' && review?.decidedReason && ` “${review.decidedReason}”`}
      {scheduledAt !== null && ` It was scheduled for ${formatMoment(scheduledAt)}.`}
    </Notice>
  )
}

export function HeldWords({ reasons, expiresAt }: Pick<Review, 'reasons' | 'expiresAt'>) {
  return (
    <div class="stack">
      <p>
        The policy holds the message until an approver decides. Do not send it again: it is sent
        automatically once approved. Without a decision by {formatMoment(expiresAt)}, it is not
        sent.
      </p>
      <HoldReasons reasons={reasons} />
    </div>
  )
}

function Waiting({
  message,
  tone,
  title,
  link,
  children,
}: {
  message: Message
  tone: Tone
  title: string
  link?: ComponentChildren
  children: ComponentChildren
}) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <>
      <Notice
        tone={tone}
        title={title}
        actions={
          <>
            {link}
            {!isApprover.value && <Button onClick={() => setIsAsking(true)}>Cancel message</Button>}
          </>
        }
      >
        {children}
      </Notice>
      {isAsking && <CancelDialog message={message} onClose={() => setIsAsking(false)} />}
    </>
  )
}

export function CancelDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  return (
    <ConfirmDialog
      title="Cancel this message?"
      action="Cancel message"
      dismiss="Keep it"
      onClose={onClose}
      submit={async () => {
        await cancel(message)
        onClose()
      }}
    >
      <p>
        {quoteSubject(message)} to {message.to.join(', ')} will not be sent. It stays in its thread.
      </p>
    </ConfirmDialog>
  )
}

async function cancel({ id, inboxId }: Message): Promise<void> {
  try {
    await client.messages.cancel(id)
    toast('Message cancelled')
  } catch (error) {
    const isLate = error instanceof MailroomError && error.code === 'already_sending'
    if (!isLate) throw error
    toastFailure(new Error('It is too late: the message is being sent or was sent.'))
  } finally {
    announceMailChange(inboxId)
  }
}
