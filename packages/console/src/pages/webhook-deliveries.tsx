// Deliveries of a webhook, with the request and response of each attempt, and retries.

import type { WebhookAttempt, WebhookDelivery } from '@mailroom/sdk'
import { useEffect, useState } from 'preact/hooks'
import { formatDuration, formatMoment, formatRelative, plural } from '#data/format.ts'
import { useLive } from '#data/live.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useGathered, useResource } from '#data/use-resource.ts'
import { ActionButton } from '#parts/button.tsx'
import { Loaded } from '#parts/loaded.tsx'
import { Badge, Empty, type Tone } from '#parts/notice.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CodeBlock, Facts, Time } from '#parts/small.tsx'

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

/** Most deliveries are attempted within this time after their event. */
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
              <Delivery webhookId={webhookId} delivery={delivery} retry={() => retry(delivery)} />
            </li>
          ))}
        </ul>
      </PagedList>
    </div>
  )
}

/** Shows "retrying" instead of "queued" after a failed attempt. */
function stateOf({ status, attempts, error }: WebhookDelivery): { tone: Tone; word: string } {
  if (status === 'pending' && attempts > 0 && error !== null) {
    return { tone: 'warn', word: 'Retrying' }
  }
  return states[status]
}

function Delivery({
  webhookId,
  delivery,
  retry,
}: {
  webhookId: string
  delivery: WebhookDelivery
  retry: () => Promise<unknown>
}) {
  const [isOpen, setIsOpen] = useState(false)
  const { status, eventType, attempts, error } = delivery
  const { tone, word } = stateOf(delivery)
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <Badge tone={tone}>{word}</Badge>
        <span class="event-subject">
          <strong>{eventType}</strong>
          <span class="muted">
            {[
              ...outcomeOf(delivery),
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
      {isOpen && (
        <div class="panel-body stack">
          <Attempts webhookId={webhookId} delivery={delivery} />
          {status !== 'pending' && (
            <div>
              <ActionButton icon="retry" action={retry}>
                Retry
              </ActionButton>
            </div>
          )}
        </div>
      )}
    </details>
  )
}

function outcomeOf({
  responseStatus,
  latencyMs,
}: Pick<WebhookDelivery, 'responseStatus' | 'latencyMs'>) {
  return [
    responseStatus !== null && `HTTP ${responseStatus}`,
    latencyMs !== null && formatDuration(latencyMs),
  ]
}

function Attempts({ webhookId, delivery }: { webhookId: string; delivery: WebhookDelivery }) {
  const { id, attempts, status, eventId } = delivery
  const whole = useResource(`delivery ${id}`, (signal) =>
    client.webhooks.getDelivery(webhookId, id, { signal }),
  )
  useEffect(() => whole.reload(), [attempts, status])
  return (
    <Loaded resource={whole} label="Loading the attempts">
      {({ history, requestBody }) => (
        <>
          <Facts
            lines={[
              ['Event', eventId],
              ['Next attempt', delivery.nextAttemptAt ? formatMoment(delivery.nextAttemptAt) : ''],
            ]}
          />
          {history.length === 0 && <p class="muted">No attempt has an outcome yet.</p>}
          <History history={history} />
          {attempts > history.length && history.length > 0 && (
            <p class="hint">The newest attempts with an outcome are kept.</p>
          )}
          <RequestBody body={requestBody} />
        </>
      )}
    </Loaded>
  )
}

function History({ history }: { history: readonly WebhookAttempt[] }) {
  return (
    <ol class="attempts" aria-label="Attempts, newest first">
      {history.map((attempt, index) => (
        <li key={attempt.number}>
          <details open={index === 0}>
            <summary>
              <Badge tone={attempt.error === null ? 'good' : 'warn'}>
                {attempt.error === null ? 'Accepted' : 'Failed'}
              </Badge>
              <span class="event-subject">
                <strong>Attempt {attempt.number}</strong>
                <span class="muted">{outcomeOf(attempt).filter(Boolean).join(' · ')}</span>
              </span>
              <Time at={attempt.attemptedAt} />
            </summary>
            <Exchange attempt={attempt} />
          </details>
        </li>
      ))}
    </ol>
  )
}

function RequestBody({ body }: { body: string | null }) {
  return (
    <details class="request-body">
      <summary>Request body</summary>
      {body === null ? (
        <p class="muted">The event or its message was deleted.</p>
      ) : (
        <>
          <p class="hint">
            The body as an attempt would send it now. Bodies are not stored, so they contain no
            deleted mail.
          </p>
          <CodeBlock label="Body of the request" text={indented(body)} />
        </>
      )}
    </details>
  )
}

function Exchange({ attempt }: { attempt: WebhookAttempt }) {
  const { error, requestUrl, requestHeaders, responseStatus, responseBody } = attempt
  return (
    <div class="exchange">
      {error !== null && <p>{errorWords[error]}.</p>}
      {requestUrl !== null && (
        <>
          <p class="hint">Request, without its signatures</p>
          <CodeBlock
            label={`Request of attempt ${attempt.number}`}
            text={[
              `POST ${requestUrl}`,
              ...Object.entries(requestHeaders ?? {}).map((field) => field.join(': ')),
            ].join('\n')}
          />
        </>
      )}
      {responseStatus !== null && <p class="hint">Response</p>}
      {responseBody ? (
        <CodeBlock label={`Response to attempt ${attempt.number}`} text={responseBody} />
      ) : (
        <p class="muted">
          {responseStatus === null ? 'No response.' : 'The response has no body.'}
        </p>
      )}
    </div>
  )
}

/** A truncated body is not valid JSON and is shown as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
