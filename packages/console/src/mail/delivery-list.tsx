// Deliveries of a sent message, with the servers' replies.

import type { Delivery, Message } from '@mailroom/sdk'
import { plural } from '#data/format.ts'
import { useMailChanges } from '#data/live.ts'
import { client } from '#data/session.ts'
import { Badge, Empty, type Tone } from '#parts/notice.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'

const statuses: Record<Delivery['status'], { tone: Tone; word: string }> = {
  queued: { tone: 'info', word: 'Queued' },
  deferred: { tone: 'warn', word: 'Will be retried' },
  accepted: { tone: 'good', word: 'Accepted' },
  failed: { tone: 'bad', word: 'Refused' },
  unknown: { tone: 'bad', word: 'No answer' },
  bounced: { tone: 'bad', word: 'Bounced' },
  complained: { tone: 'bad', word: 'Complaint' },
}

export function DeliveryList({ message }: { message: Message }) {
  const list = usePaged(`deliveries ${message.id}`, (bounds) =>
    client.messages.deliveries(message.id, bounds).page(),
  )
  useMailChanges(message.inboxId, list.reload)
  return (
    <PagedList
      list={list}
      label="deliveries"
      rows={2}
      empty={
        <Empty icon="send" title="No deliveries">
          This message had no recipients.
        </Empty>
      }
    >
      <ul class="deliveries">
        {list.items.map((delivery) => (
          <DeliveryItem key={delivery.id} delivery={delivery} />
        ))}
      </ul>
    </PagedList>
  )
}

function DeliveryItem({ delivery }: { delivery: Delivery }) {
  const { tone, word } = statuses[delivery.status]
  const { recipient, attempts, lastAttemptAt, nextAttemptAt, host, tls } = delivery
  return (
    <li class="delivery">
      <p class="delivery-head">
        <strong>{recipient}</strong>
        <Badge tone={tone}>{word}</Badge>
      </p>
      {delivery.response !== null && (
        <p class="server-words">
          {delivery.responseCode !== null && <span>{delivery.responseCode} </span>}
          {delivery.response}
        </p>
      )}
      <p class="muted">
        {[
          host && `Server ${host}`,
          host && (tls ? `encrypted (${tls})` : 'not encrypted'),
          plural(attempts, 'attempt'),
          delivery.bounceClass && `${delivery.bounceClass} bounce`,
        ]
          .filter(Boolean)
          .join(' · ')}
        {lastAttemptAt !== null && (
          <>
            {' · last '}
            <Time at={lastAttemptAt} />
          </>
        )}
        {nextAttemptAt !== null && (
          <>
            {' · next '}
            <Time at={nextAttemptAt} />
          </>
        )}
      </p>
    </li>
  )
}
