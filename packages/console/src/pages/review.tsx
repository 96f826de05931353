// A review: the held message, the reasons, its thread, and the decision.

import { MailroomError, type Review, type WholeReview } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { formatWhole, quoteSubject, subjectOf } from '#data/format.ts'
import { useKeys } from '#data/keyboard.ts'
import { paths } from '#data/paths.ts'
import { countPendingReviews, describeRefusal, neighbourOf, type Refusal } from '#data/reviews.ts'
import { client, isApprover } from '#data/session.ts'
import { toast, toastFailure } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { EditDialog, type ReviewChanges } from '#mail/edit-review.tsx'
import { HeldMail, HoldReasons } from '#mail/held-mail.tsx'
import { MessageCard } from '#mail/message-card.tsx'
import { Comments, FormerVersions } from '#mail/review-notes.tsx'
import { Button } from '#parts/button.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { CheckField, TextField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { Notice, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { Key, Time } from '#parts/small.tsx'
import { OnlyApprovers, recipientsOf, StatusBadge } from './reviews.tsx'

type Asked = 'approve' | 'reject' | 'edit' | null

export function ReviewPage() {
  const { params } = useRoute()
  const { id = '' } = params
  return <OneReview key={id} id={id} />
}

function OneReview({ id }: { id: string }) {
  const { route } = useLocation()
  const review = useResource(`review ${id}`, (signal) => client.reviews.get(id, { signal }))
  const [asked, setAsked] = useState<Asked>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const { value } = review
  const mayDecide = isApprover.value && value?.status === 'pending'

  const step = async (by: 1 | -1) => {
    if (value === undefined) return
    const next = await neighbourOf(value, by)
    if (next !== undefined) route(paths.review(next), true)
  }
  const settle = async (made: Review, words: string) => {
    toast(words)
    setAsked(null)
    void countPendingReviews().catch(() => {})
    const next = (await neighbourOf(made, 1)) ?? (await neighbourOf(made, -1))
    route(next === undefined ? paths.reviews : paths.review(next), true)
  }
  const decide = async (decision: () => Promise<Review>, words: string) => {
    const made = await decision().catch((error) => {
      const refused = describeRefusal(error)
      if (refused === null) throw error
      setRefusal(refused)
      setAsked(null)
      review.reload()
      return null
    })
    // If there is no next review, the page shows the decision.
    if (made !== null) await settle(made, words).catch(review.reload)
  }
  const edit = async (changes: ReviewChanges) => {
    if (value === undefined) return
    try {
      await client.reviews.edit(value.id, { digest: value.digest, ...changes })
      toast('The edited message awaits approval')
    } catch (error) {
      // The form shows other refusals, which the approver may correct.
      if (!(error instanceof MailroomError) || error.status !== 409) throw error
      setRefusal(describeRefusal(error))
    }
    setAsked(null)
    review.reload()
  }
  const ask = (what: Asked) => {
    setRefusal(null)
    setAsked(what)
  }
  useKeys({
    a: mayDecide ? () => ask('approve') : undefined,
    e: mayDecide ? () => ask('edit') : undefined,
    x: mayDecide ? () => ask('reject') : undefined,
    j: () => void step(1).catch(toastFailure),
    k: () => void step(-1).catch(toastFailure),
    Escape: () => route(paths.reviews),
  })

  if (value === undefined) {
    return (
      <Page title="Review" above={<WayBack />}>
        {review.error ? (
          <Trouble error={review.error} retry={review.reload} />
        ) : (
          <Skeleton label="Loading the review" />
        )}
      </Page>
    )
  }
  return (
    <Page
      title={subjectOf(value)}
      above={<WayBack />}
      intro={<State review={value} />}
      actions={mayDecide && <Decisions ask={ask} />}
    >
      {refusal && (
        <Notice tone="bad" title={refusal.title}>
          {refusal.text}
        </Notice>
      )}
      {!isApprover.value && value.status === 'pending' && <OnlyApprovers />}
      <div class="review">
        <div>
          <Section title="Why it is held">
            <HoldReasons reasons={value.reasons} />
          </Section>
          <Section title="What will be sent">
            <HeldMail review={value} />
          </Section>
          <FormerVersions review={value} />
        </div>
        <div>
          <Comments review={value} reload={review.reload} />
          <ThreadBeside review={value} />
        </div>
      </div>
      {asked === 'edit' && (
        <EditDialog review={value} submit={edit} onClose={() => setAsked(null)} />
      )}
      {asked === 'approve' && (
        <ApproveDialog
          review={value}
          onClose={() => setAsked(null)}
          submit={(allowRecipients) =>
            decide(
              () => client.reviews.approve(value.id, { digest: value.digest, allowRecipients }),
              `Approved: ${quoteSubject(value)}`,
            )
          }
        />
      )}
      {asked === 'reject' && (
        <RejectDialog
          count={value.equalCount}
          onClose={() => setAsked(null)}
          submit={(reason) =>
            decide(
              () => client.reviews.reject(value.id, { reason, includeEqual: true }),
              `Rejected: ${quoteSubject(value)}`,
            )
          }
        />
      )}
    </Page>
  )
}

function WayBack() {
  return (
    <a class="way-back" href={paths.reviews}>
      <Icon name="back" size={14} />
      Reviews
    </a>
  )
}

function Decisions({ ask }: { ask: (what: Asked) => void }) {
  return (
    <>
      <Button kind="primary" icon="check" onClick={() => ask('approve')}>
        Approve… <Key>a</Key>
      </Button>
      <Button icon="edit" onClick={() => ask('edit')}>
        Edit… <Key>e</Key>
      </Button>
      <Button icon="close" onClick={() => ask('reject')}>
        Reject… <Key>x</Key>
      </Button>
    </>
  )
}

function State({ review }: { review: WholeReview }) {
  const held = review.thread.data.find(({ id }) => id === review.messageId)
  return (
    <>
      <StatusBadge status={review.status} /> Held <Time at={review.createdAt} />.{' '}
      {review.status === 'pending' && (
        <>
          Rejected <Time at={review.expiresAt} /> without a decision.{' '}
        </>
      )}
      {review.decidedAt !== null && (
        <>
          Decided <Time at={review.decidedAt} />
          {review.decidedReason ? `: ${review.decidedReason}.` : '.'}{' '}
        </>
      )}
      {held?.scheduledAt ? (
        <>
          Scheduled <Time at={held.scheduledAt} />: an approved message waits until then.
        </>
      ) : (
        review.status === 'pending' && 'The message is sent as soon as it is approved.'
      )}
    </>
  )
}

function ThreadBeside({ review }: { review: WholeReview }) {
  const others = review.thread.data.filter(({ id }) => id !== review.messageId)
  return (
    <Section title="Thread">
      {others.length === 0 ? (
        <p class="muted">The message begins a new thread.</p>
      ) : (
        <ol class="messages">
          {others.map((message, index) => (
            <li key={message.id}>
              <MessageCard message={message} isOpenAtFirst={index === others.length - 1} />
            </li>
          ))}
        </ol>
      )}
    </Section>
  )
}

function ApproveDialog({
  review,
  submit,
  onClose,
}: {
  review: WholeReview
  submit: (allowRecipients: boolean) => Promise<void>
  onClose: () => void
}) {
  const [isAllowing, setIsAllowing] = useState(false)
  const { sendAt } = review.content
  const isNew = review.reasons.some(({ guard }) => guard === 'newRecipients')
  return (
    <FormDialog
      title="Approve this message?"
      action="Approve"
      isActionFocused
      submit={() => submit(isAllowing)}
      onClose={onClose}
    >
      {() => (
        <>
          <p class="prose">
            {quoteSubject(review)} will be sent to <strong>{recipientsOf(review.content)}</strong>
            {sendAt === null ? ' immediately' : `, no earlier than ${formatWhole(sendAt)}`}, exactly
            as shown here. This cannot be undone. Press <Key>Enter</Key> to approve, <Key>Esc</Key>{' '}
            to go back.
          </p>
          {isNew && (
            <CheckField
              label="Always allow these recipients"
              name="allowRecipients"
              hint="Adds rules to the policy of the inbox, so that later mail to these recipients is not held because they are new."
              isChecked={isAllowing}
              onChecked={setIsAllowing}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

function RejectDialog({
  count,
  submit,
  onClose,
}: {
  count: number
  submit: (reason: string) => Promise<void>
  onClose: () => void
}) {
  const [reason, setReason] = useState('')
  return (
    <FormDialog
      title={count > 1 ? `Reject all ${count} equal messages?` : 'Reject this message?'}
      action="Reject"
      kind="danger"
      submit={() => submit(reason.trim())}
      onClose={onClose}
    >
      {(fields) => (
        <TextField
          label="Reason (optional)"
          name="reason"
          value={reason}
          onValue={setReason}
          error={fields.reason}
          hint="The agent can read the reason. The message is never sent."
          autocomplete="off"
          maxLength={1000}
          autofocus
        />
      )}
    </FormDialog>
  )
}
