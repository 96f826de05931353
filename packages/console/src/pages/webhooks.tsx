// Webhooks, and a form that creates one. Its secret is shown once.

import type { Webhook, WebhookWithSecret } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { plural } from '#data/format.ts'
import { useLive } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { useGathered } from '#data/use-resource.ts'
import { categoryWord } from '#mail/category.tsx'
import { Button, ButtonLink } from '#parts/button.tsx'
import { SecretDialog } from '#parts/dialog.tsx'
import { Badge, Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { Table } from '#parts/table.tsx'
import { errorWords, TRIED_MS } from './webhook-deliveries.tsx'
import { WebhookForm } from './webhook-form.tsx'

export function WebhooksPage() {
  const [isAdding, setIsAdding] = useState(false)
  const [made, setMade] = useState<WebhookWithSecret | null>(null)
  const webhooks = usePaged('webhooks', (bounds) => client.webhooks.list(bounds).page())
  // The list is refreshed after any event, because its first attempt may show that the webhook
  // fails.
  useLive(useGathered(webhooks.reload, TRIED_MS))
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setIsAdding(true)}>
      New webhook
    </Button>
  )
  return (
    <Page
      title="Webhooks"
      intro="URLs that receive events as signed HTTP POST requests."
      actions={add}
    >
      <div class="panel">
        <PagedList
          list={webhooks}
          label="webhooks"
          empty={
            <Empty icon="webhook" title="No webhooks yet" actions={add}>
              A webhook posts each event to your program as it happens, so it does not have to poll.
            </Empty>
          }
        >
          <WebhookTable webhooks={webhooks.items} />
        </PagedList>
      </div>
      {isAdding && (
        <WebhookForm
          title="New webhook"
          action="Create webhook"
          onClose={() => setIsAdding(false)}
          save={async (body) => {
            setMade(await client.webhooks.create(body))
            setIsAdding(false)
            webhooks.reload()
          }}
        />
      )}
      {made !== null && <NewSecret webhook={made} onClose={() => setMade(null)} />}
    </Page>
  )
}

export function NewSecret({
  webhook,
  onClose,
}: {
  webhook: WebhookWithSecret
  onClose: () => void
}) {
  return (
    <SecretDialog
      title="Webhook secret"
      label="secret"
      value={webhook.secret}
      onClose={onClose}
      actions={<ButtonLink href={paths.webhook(webhook.id)}>Open the webhook</ButtonLink>}
    >
      Your program uses it to verify that a request comes from this service.
    </SecretDialog>
  )
}

function WebhookTable({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <Table columns={['URL', 'State', 'Events', 'Created']}>
      {webhooks.map((webhook) => (
        <tr key={webhook.id}>
          <td class="main-cell">
            <a href={paths.webhook(webhook.id)}>{webhook.url}</a>
            {webhook.inboxId !== null && <span class="sub">Set as the webhookUrl of an inbox</span>}
          </td>
          <td>
            <WebhookBadge webhook={webhook} />
            {webhook.enabled && webhook.failingSince !== null && (
              <span class="sub">
                {failureWords(webhook)}, {failuresInARow(webhook)}
                {webhook.nextAttemptAt !== null && (
                  <>
                    ; next attempt <Time at={webhook.nextAttemptAt} />
                  </>
                )}
              </span>
            )}
          </td>
          <td data-label="Events" class="muted">
            {scopeOf(webhook)}
          </td>
          <td data-label="Created" class="muted nowrap">
            <Time at={webhook.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  if (webhook.enabled && webhook.failingSince !== null) return <Badge tone="bad">Failing</Badge>
  if (webhook.enabled) return <Badge tone="info">Enabled</Badge>
  return webhook.disabledReason === 'failing' ? (
    <Badge tone="bad">Disabled: failing</Badge>
  ) : (
    <Badge>Disabled</Badge>
  )
}

/** Why the newest attempt failed, in a few words. */
export function failureWords({ lastError, lastResponseStatus }: Webhook): string {
  if (lastResponseStatus !== null && (lastError === 'status' || lastError === null)) {
    return `HTTP ${lastResponseStatus}`
  }
  return lastError === null ? 'Failing' : errorWords[lastError]
}

function failuresInARow({ consecutiveFailures }: Webhook): string {
  return `${plural(consecutiveFailures, 'failure')} in a row`
}

export function scopeOf({ eventTypes, categories, podIds, inboxIds }: Webhook): string {
  const kinds = eventTypes.length === 0 ? 'All events' : eventTypes.join(', ')
  const places = [
    podIds.length > 0 && plural(podIds.length, 'pod'),
    inboxIds.length > 0 && plural(inboxIds.length, 'inbox', 'inboxes'),
  ].filter(Boolean)
  const events = places.length === 0 ? kinds : `${kinds} of ${places.join(' and ')}`
  if (categories.length === 0) return events
  return `${events}; of received mail only ${categories.map(categoryWord).join(', ')}`
}
