// Held messages. An approver can approve several at once.

import type { ReviewStatus } from '@mailroom/contract/vocabulary.ts'
import { shownLine } from '@mailroom/mail/unseen.ts'
import type { Review } from '@mailroom/sdk'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { plural, quoteSubject, subjectOf } from '#data/format.ts'
import { useKeys } from '#data/keyboard.ts'
import { paths } from '#data/paths.ts'
import { countPendingReviews, pendingReviews, refusalOf } from '#data/reviews.ts'
import { client, isApprover } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { guardTitle } from '#mail/held-mail.tsx'
import { Button } from '#parts/button.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { Badge, Empty, Notice, type Tone } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Choice, Key, Time } from '#parts/small.tsx'

const statuses: Record<ReviewStatus, { tone: Tone; word: string }> = {
  pending: { tone: 'warn', word: 'Pending' },
  approved: { tone: 'good', word: 'Approved' },
  rejected: { tone: 'bad', word: 'Rejected' },
  expired: { tone: 'calm', word: 'Expired' },
}

const filters = [
  { value: 'pending', text: 'Pending' },
  { value: 'approved', text: 'Approved' },
  { value: 'rejected', text: 'Rejected' },
  { value: 'expired', text: 'Expired' },
  { value: 'all', text: 'All' },
] as const

export function StatusBadge({ status }: { status: ReviewStatus }) {
  return <Badge tone={statuses[status].tone}>{statuses[status].word}</Badge>
}

export function OnlyApprovers() {
  return (
    <Notice tone="calm" title="Only an approver can decide">
      You are signed in with an API key of the account, which agents use too. Sign in with the token
      of an approver (mra_…) to approve or reject.
    </Notice>
  )
}

type Failed = { review: Review | undefined; title: string; text: string }

export function ReviewsPage() {
  const { route } = useLocation()
  const [filter, setFilter] = useState<(typeof filters)[number]['value']>('pending')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [isAsking, setIsAsking] = useState(false)
  const [failed, setFailed] = useState<readonly Failed[]>([])
  const list = usePaged(`reviews ${filter}`, (bounds) =>
    client.reviews.list({ ...bounds, ...(filter !== 'all' && { status: filter }) }).page(),
  )
  const { value: count } = pendingReviews
  useEffect(() => {
    if (count !== null) list.reload()
  }, [count])
  // Reviews that are no longer on the page are deselected, so that nothing unseen is approved.
  const approvable = list.items.filter(({ id, status }) => status === 'pending' && chosen.has(id))
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(id)
    else next.delete(id)
    setChosen(next)
  }
  const askApproval = () => {
    setFailed([])
    setIsAsking(true)
  }
  useKeys({
    Enter: list.items[0] && (() => route(paths.review(list.items[0]?.id ?? ''))),
    a: approvable.length > 0 ? askApproval : undefined,
  })
  const approve = async () => {
    const items = approvable.map(({ id, digest }) => ({ id, digest }))
    const { data } = await client.reviews.approveMany({ items })
    const refused = data.flatMap(({ id, error }) =>
      error === null
        ? []
        : [
            {
              review: approvable.find((one) => one.id === id),
              ...refusalOf(error.error, error.message, error.fix ?? null),
            },
          ],
    )
    if (refused.length < data.length) {
      toast(`${plural(data.length - refused.length, 'message')} approved`)
    }
    setFailed(refused)
    setIsAsking(false)
    setChosen(new Set())
    list.reload()
    void countPendingReviews().catch(() => {})
  }
  return (
    <Page
      title="Reviews"
      intro="Mail that a policy holds until an approver decides. Without a decision it is not sent."
      actions={
        approvable.length > 0 && (
          <Button kind="primary" icon="check" onClick={askApproval}>
            Approve {approvable.length} selected… <Key>a</Key>
          </Button>
        )
      }
    >
      <div class="stack">
        {!isApprover.value && <OnlyApprovers />}
        {failed.map(({ review, title, text }) => (
          <Notice key={review?.id} tone="bad" title={title}>
            {quoteSubject({ ...review })}: {text}
          </Notice>
        ))}
        <Choice label="Status" value={filter} options={filters} onValue={setFilter} />
        <div class="panel">
          <PagedList
            list={list}
            label="reviews"
            empty={
              <Empty icon="check" title={filter === 'pending' ? 'Nothing to decide' : 'No reviews'}>
                Mail appears here when the policy of its inbox holds it.
              </Empty>
            }
          >
            <ReviewTable items={list.items} chosen={chosen} choose={choose} />
          </PagedList>
        </div>
      </div>
      {isAsking && (
        <FormDialog
          title={`Approve ${plural(approvable.length, 'message')}?`}
          action="Approve"
          isActionFocused
          submit={approve}
          onClose={() => setIsAsking(false)}
        >
          {() => (
            <div class="prose">
              <p>
                They will be sent. This cannot be undone. Press <Key>Enter</Key> to approve,{' '}
                <Key>Esc</Key> to go back.
              </p>
              <ul>
                {approvable.map((review) => (
                  <li key={review.id}>
                    {quoteSubject(review)} to {recipientsOf(review)}
                  </li>
                ))}
              </ul>
            </div>
          )}
        </FormDialog>
      )}
    </Page>
  )
}

export function recipientsOf({ to, cc, bcc }: Pick<Review, 'to' | 'cc' | 'bcc'>): string {
  return shownLine([...to, ...cc, ...bcc].join(', '))
}

function ReviewTable({
  items,
  chosen,
  choose,
}: {
  items: readonly Review[]
  chosen: ReadonlySet<string>
  choose: (id: string, isChosen: boolean) => void
}) {
  return (
    <div class="table-wrap">
      <table class="table cards">
        <thead>
          <tr>
            {isApprover.value && (
              <th scope="col">
                <span class="unseen">Select</span>
              </th>
            )}
            <th scope="col">Message</th>
            <th scope="col">Reasons</th>
            <th scope="col">Status</th>
            <th scope="col">Held</th>
          </tr>
        </thead>
        <tbody>
          {items.map((review) => (
            <tr key={review.id}>
              {isApprover.value && (
                <td>
                  {review.status === 'pending' && (
                    <input
                      type="checkbox"
                      aria-label={`Select ${review.subject || 'the message'}`}
                      checked={chosen.has(review.id)}
                      onChange={(event) => choose(review.id, event.currentTarget.checked)}
                    />
                  )}
                </td>
              )}
              <td class="main-cell">
                <a href={paths.review(review.id)}>{subjectOf(review)}</a>
                {review.equalCount > 1 && ` × ${review.equalCount}`}
                <span class="sub">
                  {shownLine(review.from)} to {recipientsOf(review)}
                </span>
              </td>
              <td data-label="Reasons" class="muted">
                {[...new Set(review.reasons.map(({ guard }) => guardTitle(guard)))].join(', ')}
              </td>
              <td>
                <StatusBadge status={review.status} />
              </td>
              <td data-label="Held" class="nowrap muted">
                <Time at={review.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
