// The webhooks of the account, and making one: its secret is shown once.

import type { Webhook, WebhookWithSecret } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLive } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { Button, ButtonLink } from '#parts/button.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { Badge, Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Pager, usePaged } from '#parts/pager.tsx'
import { Secret, Time } from '#parts/small.tsx'
import { WebhookForm } from './webhook-form.tsx'

export function WebhooksPage() {
  const [isAdding, setIsAdding] = useState(false)
  const [made, setMade] = useState<WebhookWithSecret | null>(null)
  const webhooks = usePaged('webhooks', (bounds) => client.webhooks.list(bounds).page())
  useLive(({ event }) => {
    if (event === 'webhook.disabled') webhooks.reload()
  })
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setIsAdding(true)}>
      New webhook
    </Button>
  )
  return (
    <Page
      title="Webhooks"
      intro="URLs that events are posted to, signed with a secret of their own."
      actions={add}
    >
      <div class="panel">
        {webhooks.error && webhooks.value === undefined ? (
          <Trouble error={webhooks.error} retry={webhooks.reload} />
        ) : webhooks.value === undefined ? (
          <Skeleton label="Loading webhooks" />
        ) : webhooks.items.length === 0 ? (
          <Empty icon="webhook" title="No webhook yet" actions={add}>
            With one, your program is told of mail as it comes, and need not ask.
          </Empty>
        ) : (
          <WebhookTable webhooks={webhooks.items} />
        )}
        <Pager list={webhooks} label="webhooks" />
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
    <Dialog title="The secret of the webhook" onClose={onClose}>
      <div class="stack">
        <p>
          Your program checks with it that a post is from this service. It is shown only now: keep
          it where the program finds it.
        </p>
        <Secret value={webhook.secret} label="secret" />
        <div class="form-actions">
          <ButtonLink href={paths.webhook(webhook.id)}>Open the webhook</ButtonLink>
          <Button kind="primary" onClick={onClose}>
            I have kept it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function WebhookTable({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <div class="table-wrap">
      <table class="table cards">
        <thead>
          <tr>
            <th scope="col">URL</th>
            <th scope="col">State</th>
            <th scope="col">Tells of</th>
            <th scope="col">Made</th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => (
            <tr key={webhook.id}>
              <td class="main-cell">
                <a href={paths.webhook(webhook.id)}>{webhook.url}</a>
                {webhook.inboxId !== null && <span class="sub">Of one inbox</span>}
              </td>
              <td>
                <WebhookBadge webhook={webhook} />
              </td>
              <td data-label="Tells of" class="muted">
                {scopeOf(webhook)}
              </td>
              <td data-label="Made" class="muted nowrap">
                <Time at={webhook.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  if (webhook.enabled) return <Badge tone="good">Enabled</Badge>
  return webhook.disabledReason === 'failing' ? (
    <Badge tone="bad">Disabled: failing</Badge>
  ) : (
    <Badge>Disabled</Badge>
  )
}

export function scopeOf({ eventTypes, podIds, inboxIds }: Webhook): string {
  const kinds = eventTypes.length === 0 ? 'All events' : eventTypes.join(', ')
  const places = [
    podIds.length > 0 && `${podIds.length} pods`,
    inboxIds.length > 0 && `${inboxIds.length} inboxes`,
  ].filter(Boolean)
  return places.length === 0 ? kinds : `${kinds}, of ${places.join(' and ')}`
}
