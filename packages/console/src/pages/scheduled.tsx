// The scheduled messages of an inbox, soonest first.

import type { Message } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { formatMoment, subjectOf } from '#data/format.ts'
import { useMailChanges } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { useReviewsOf } from '#data/reviews.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { CancelDialog, statusOf } from '#mail/message-status.tsx'
import { Button } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Badge, Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

export function ScheduledPage() {
  const { inboxId = '' } = useRoute().params
  const [asked, setAsked] = useState<Message | null>(null)
  const inbox = useResource(`inbox ${inboxId}`, (signal) => client.inboxes.get(inboxId, { signal }))
  const list = usePaged(`scheduled ${inboxId}`, (bounds) =>
    client.inboxes.scheduled(inboxId, bounds).page(),
  )
  useMailChanges(inboxId, list.reload)
  return (
    <Page
      title="Scheduled"
      intro="Messages to be sent at a later time. Policy, suppressions and limits are checked again at that time."
      above={
        <a class="way-back" href={paths.inbox(inboxId)}>
          <Icon name="back" size={14} />
          {inbox.value?.address ?? 'Inbox'}
        </a>
      }
    >
      <div class="panel">
        <PagedList
          list={list}
          label="scheduled messages"
          empty={
            <Empty icon="clock" title="Nothing is scheduled">
              Choose “Send later” when you write a message.
            </Empty>
          }
        >
          <ScheduledTable inboxId={inboxId} items={list.items} ask={setAsked} />
        </PagedList>
      </div>
      {asked && <CancelDialog message={asked} onClose={() => setAsked(null)} />}
    </Page>
  )
}

function ScheduledTable({
  inboxId,
  items,
  ask,
}: {
  inboxId: string
  items: readonly Message[]
  ask: (message: Message) => void
}) {
  const reviews = useReviewsOf(inboxId, items)
  return (
    <Table columns={['Message', 'To', 'Leaves']} hasTools>
      {items.map((message) => {
        const { id, threadId, subject, to, cc, bcc, scheduledAt } = message
        const status = statusOf(message, reviews.get(id))
        return (
          <tr key={id}>
            <td class="main-cell">
              <a href={paths.thread(inboxId, threadId)}>{subjectOf(message)}</a>{' '}
              {status?.word === 'Held' && <Badge tone="warn">Held</Badge>}
            </td>
            <td data-label="To" class="muted text-cell">
              <span class="bounded">{[...to, ...cc, ...bcc].join(', ')}</span>
            </td>
            <td data-label="Leaves" class="muted text-cell">
              {scheduledAt !== null && (
                <>
                  {formatMoment(scheduledAt)} (<Time at={scheduledAt} />)
                </>
              )}
            </td>
            <RowTools>
              <Button
                kind="quiet"
                icon="close"
                label={`Cancel ${subject || 'the message'}`}
                onClick={() => ask(message)}
              >
                Cancel
              </Button>
            </RowTools>
          </tr>
        )
      })}
    </Table>
  )
}
