// Deliveries of a webhook, with the receiver's response and a retry.

import type { WebhookDelivery } from '@mailroom/sdk'
import { useEffect } from 'preact/hooks'
import { formatDuration, formatRelative, plural } from '#data/format.ts'
import { useLive } from '#data/live.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useGathered } from '#data/use-resource.ts'
import { ActionButton } from '#parts/button.tsx'
import { Badge, Empty, type Tone } from '#parts/notice.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CodeBlock, Time } from '#parts/small.tsx'

const states: Record<WebhookDelivery['status'], { tone: Tone; word: string }> = {
  pending: { tone: 'info', word: 'Queued' },
  succeeded: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
}

export const errorWords: Record<NonNullable<WebhookDelivery['error']>, string> = {
  status: 'The receiver answered with an error',
  redirect: 'The receiver answered with a redirect, which is not followed',
  timeout: 'The receiver did not answer within 15 seconds',
  forbidden_address: 'The URL leads to a private or blocked address',
  dns_failed: 'The host name was not found',
  connection_failed: 'The connection failed',
  tls_failed: 'The TLS handshake failed',
  protocol_error: 'The answer was not valid HTTP',
  internal_error: 'Internal error of this service',
  webhook_disabled: 'The webhook was disabled',
}

/** Most deliveries have been attempted within this time after the event. */
export const TRIED_MS = 1_500
const PENDING_MS = 4_000

export function WebhookDeliveries({
  webhookId,
  round,
  onChanged,
}: {
  webhookId: string
  round: number
  onChanged: () => void
}) {
  const list = usePaged(
    `webhook deliveries ${webhookId}`,
    (bounds) => client.webhooks.deliveries(webhookId, bounds).page(),
    25,
  )
  useEffect(() => {
    if (round > 0) list.reload()
  }, [round])
  useLive(useGathered(list.reload, TRIED_MS))
  const isPending = list.items.some(({ status }) => status === 'pending')
  useEffect(() => {
    if (!isPending) return
    const timer = setInterval(list.reload, PENDING_MS)
    return () => clearInterval(timer)
  }, [isPending])
  const retry = async ({ id }: WebhookDelivery) => {
    await client.webhooks.retryDelivery(webhookId, id)
    toast('Retrying now')
    list.reload()
    onChanged()
  }
  return (
    <div class="panel">
      <PagedList
        list={list}
        label="deliveries"
        rows={4}
        empty={
          <Empty icon="webhook" title="No deliveries yet">
            Send a test, or wait for the next event.
          </Empty>
        }
      >
        <ul class="tail">
          {list.items.map((delivery) => (
            <li key={delivery.id}>
              <Delivery delivery={delivery} retry={() => retry(delivery)} />
            </li>
          ))}
        </ul>
      </PagedList>
    </div>
  )
}

/** A delivery that has failed and will be retried is no longer just queued. */
function stateOf({ status, attempts, error }: WebhookDelivery): { tone: Tone; word: string } {
  if (status === 'pending' && attempts > 0 && error !== null) {
    return { tone: 'warn', word: 'Retrying' }
  }
  return states[status]
}

function Delivery({
  delivery,
  retry,
}: {
  delivery: WebhookDelivery
  retry: () => Promise<unknown>
}) {
  const { status, eventType, eventId, attempts, responseStatus, latencyMs, error } = delivery
  const { tone, word } = stateOf(delivery)
  return (
    <details>
      <summary>
        <Badge tone={tone}>{word}</Badge>
        <span class="event-subject">
          <strong>{eventType}</strong>
          <span class="muted">
            {[
              responseStatus !== null && `HTTP ${responseStatus}`,
              latencyMs !== null && formatDuration(latencyMs),
              plural(attempts, 'attempt'),
              status === 'pending' &&
                error !== null &&
                delivery.nextAttemptAt !== null &&
                `next ${formatRelative(delivery.nextAttemptAt)}`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </span>
        {delivery.lastAttemptAt !== null && <Time at={delivery.lastAttemptAt} />}
      </summary>
      <div class="panel-body stack">
        <dl class="facts">
          <dt>Event</dt>
          <dd>
            <code>{eventId}</code>
          </dd>
          {error !== null && (
            <>
              <dt>Error</dt>
              <dd>{errorWords[error]}</dd>
            </>
          )}
          {delivery.nextAttemptAt !== null && (
            <>
              <dt>Next attempt</dt>
              <dd>
                <Time at={delivery.nextAttemptAt} />
              </dd>
            </>
          )}
          <dt>Response</dt>
          <dd>
            {delivery.responseBody ? (
              <CodeBlock label="Response of the receiver" text={delivery.responseBody} />
            ) : (
              <span class="muted">{responseStatus === null ? 'None' : 'Empty body'}</span>
            )}
          </dd>
        </dl>
        {status !== 'pending' && (
          <div>
            <ActionButton icon="retry" action={retry}>
              Retry
            </ActionButton>
          </div>
        )}
      </div>
    </details>
  )
}
