// A webhook: its state, its test, and its deliveries.

import { MailroomError, type Webhook, type WebhookWithSecret } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { formatNumber } from '#data/format.ts'
import { useLive } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { type Resource, useGathered, useResource } from '#data/use-resource.ts'
import { ActionButton, Button } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { Icon } from '#parts/icon.tsx'
import { Notice, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { Time } from '#parts/small.tsx'
import { TRIED_MS, WebhookDeliveries } from './webhook-deliveries.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { failureWords, NewSecret, scopeOf, WebhookBadge } from './webhooks.tsx'

export function WebhookPage() {
  const { id = '' } = useRoute().params
  const webhook = useResource(`webhook ${id}`, (signal) => client.webhooks.get(id, { signal }))
  const above = (
    <a class="way-back" href={paths.webhooks}>
      <Icon name="back" size={14} />
      Webhooks
    </a>
  )
  if (webhook.value === undefined) {
    return (
      <Page title="Webhook" above={above}>
        {webhook.error ? (
          <Trouble error={webhook.error} retry={webhook.reload} />
        ) : (
          <Skeleton rows={6} label="Loading the webhook" />
        )}
      </Page>
    )
  }
  return <WebhookView resource={webhook} webhook={webhook.value} above={above} />
}

type Asked = 'edit' | 'delete' | 'rotate' | null
type Tested = { isTaken: boolean; words: string } | null

function WebhookView({
  resource,
  webhook,
  above,
}: {
  resource: Resource<Webhook>
  webhook: Webhook
  above: ComponentChildren
}) {
  const { route } = useLocation()
  const [asked, setAsked] = useState<Asked>(null)
  const [made, setMade] = useState<WebhookWithSecret | null>(null)
  const [tested, setTested] = useState<Tested>(null)
  const [round, setRound] = useState(0)
  const close = () => setAsked(null)
  const { id, enabled } = webhook
  useLive(useGathered(resource.reload, TRIED_MS))
  const test = async () => {
    setTested(await testWebhook(id))
    resource.reload()
    setRound((before) => before + 1)
  }
  const setEnabled = async (isEnabled: boolean) => {
    const changed = await client.webhooks.update(id, { enabled: isEnabled })
    resource.replace(() => changed)
    toast(isEnabled ? 'Webhook enabled' : 'Webhook disabled')
  }
  return (
    <Page
      title={webhook.url}
      above={above}
      actions={
        <>
          <Button icon="edit" onClick={() => setAsked('edit')}>
            Edit
          </Button>
          <Button icon="key" onClick={() => setAsked('rotate')}>
            New secret
          </Button>
          <ActionButton icon={enabled ? 'pause' : 'play'} action={() => setEnabled(!enabled)}>
            {enabled ? 'Disable' : 'Enable'}
          </ActionButton>
          <Button icon="trash" onClick={() => setAsked('delete')}>
            Delete
          </Button>
          <ActionButton kind="primary" icon="send" action={test}>
            Send a test
          </ActionButton>
        </>
      }
    >
      <div class="stack">
        {webhook.disabledReason === 'failing' && !enabled && (
          <Notice tone="bad" title="Disabled after five days of failed deliveries">
            Fix the receiver, send a test, then enable the webhook. Events since then are in the
            event log.
          </Notice>
        )}
        <div role="status">
          {tested && (
            <Notice
              tone={tested.isTaken ? 'good' : 'bad'}
              title={tested.isTaken ? 'The test was delivered' : 'The test failed'}
            >
              {tested.words}
            </Notice>
          )}
        </div>
        <WebhookFacts webhook={webhook} />
      </div>
      <Section title="Deliveries">
        <WebhookDeliveries webhookId={id} round={round} onChanged={resource.reload} />
      </Section>
      {asked === 'edit' && (
        <WebhookForm
          title="Edit webhook"
          action="Save"
          webhook={webhook}
          onClose={close}
          save={async (fields) => {
            const changed = await client.webhooks.update(id, fields)
            resource.replace(() => changed)
            close()
            toast('Webhook saved')
          }}
        />
      )}
      {asked === 'rotate' && (
        <ConfirmDialog
          title="Create a new secret?"
          action="Create secret"
          onClose={close}
          submit={async () => {
            setMade(await client.webhooks.rotateSecret(id))
            close()
          }}
        >
          <p>
            Requests are signed with the new secret from now on. For 24 hours they are signed with
            the current one as well, so that your program can switch without a gap.
          </p>
        </ConfirmDialog>
      )}
      {asked === 'delete' && (
        <ConfirmDialog
          title="Delete this webhook?"
          action="Delete webhook"
          onClose={close}
          submit={async () => {
            await client.webhooks.delete(id)
            toast('Webhook deleted')
            route(paths.webhooks)
          }}
        >
          <p>
            <strong>{webhook.url}</strong> receives no more events, including those still to be
            retried. Its deliveries are deleted as well.
          </p>
        </ConfirmDialog>
      )}
      {made !== null && <NewSecret webhook={made} onClose={() => setMade(null)} />}
    </Page>
  )
}

function WebhookFacts({ webhook }: { webhook: Webhook }) {
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <WebhookBadge webhook={webhook} />{' '}
        {webhook.disabledAt !== null && (
          <span class="muted">
            since <Time at={webhook.disabledAt} />
          </span>
        )}
        {webhook.enabled && webhook.failingSince !== null && (
          <span class="muted">
            since <Time at={webhook.failingSince} />
          </span>
        )}
      </dd>
      {webhook.failingSince !== null && (
        <>
          <dt>Last failure</dt>
          <dd>
            {failureWords(webhook)}
            {webhook.lastFailureAt !== null && (
              <span class="muted">
                {', '}
                <Time at={webhook.lastFailureAt} />
              </span>
            )}
          </dd>
          <dt>Consecutive failures</dt>
          <dd>{formatNumber(webhook.consecutiveFailures)}</dd>
        </>
      )}
      {webhook.nextAttemptAt !== null && (
        <>
          <dt>Next attempt</dt>
          <dd>
            <Time at={webhook.nextAttemptAt} />
          </dd>
        </>
      )}
      <dt>Events</dt>
      <dd>{scopeOf(webhook)}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={webhook.createdAt} />
      </dd>
    </dl>
  )
}

/** A refusal by the endpoint is a result of the test, not an error of the request. */
async function testWebhook(id: string): Promise<Tested> {
  try {
    return { isTaken: true, words: (await client.webhooks.test(id)).message }
  } catch (error) {
    if (!(error instanceof MailroomError) || error.code !== 'webhook_failed') throw error
    return { isTaken: false, words: error.message }
  }
}
