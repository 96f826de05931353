// Approvers: create one (its token is shown once) or delete one.

import type { Approver, NewApprover } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { client, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, FormDialog, SecretDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Badge, Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

type Asked =
  | { kind: 'create' }
  | { kind: 'made'; approver: NewApprover }
  | { kind: 'webhook'; webhookSecret: string }
  | { kind: 'delete'; approver: Approver }
  | null

export function ApproversPage() {
  const [asked, setAsked] = useState<Asked>(null)
  const list = usePaged('approvers', (bounds) => client.approvers.list(bounds).page())
  const close = () => setAsked(null)
  return (
    <Page
      title="Approvers"
      intro="People who decide about mail that a policy holds back. The first may be created with an API key; from then on only an approver creates approvers and changes policies."
      actions={
        <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'create' })}>
          New approver
        </Button>
      }
    >
      <div class="panel">
        <PagedList
          list={list}
          label="approvers"
          empty={
            <Empty icon="shield" title="No approvers yet">
              A policy can hold mail once there is an approver to decide about it.
            </Empty>
          }
        >
          <ApproverTable
            approvers={list.items}
            remove={(approver) => setAsked({ kind: 'delete', approver })}
          />
        </PagedList>
      </div>
      {asked?.kind === 'create' && (
        <CreateApprover
          onClose={close}
          onMade={(approver) => {
            setAsked({ kind: 'made', approver })
            list.reload()
          }}
        />
      )}
      {asked?.kind === 'made' && (
        <SecretDialog
          title={`Approver “${asked.approver.name}” created`}
          label="token"
          value={asked.approver.token}
          onClose={() => {
            const { webhookSecret } = asked.approver
            setAsked(webhookSecret === undefined ? null : { kind: 'webhook', webhookSecret })
          }}
        >
          Do not give the token to the agent: it decides what the agent may send.
        </SecretDialog>
      )}
      {asked?.kind === 'webhook' && (
        <SecretDialog
          title="Signing secret of the webhook"
          label="secret"
          value={asked.webhookSecret}
          onClose={close}
        >
          The receiver uses this secret to verify that a request comes from this service.
        </SecretDialog>
      )}
      {asked?.kind === 'delete' && (
        <ConfirmDialog
          title="Delete this approver?"
          action="Delete approver"
          onClose={close}
          submit={async () => {
            await client.approvers.delete(asked.approver.id)
            toast('Approver deleted')
            close()
            list.reload()
          }}
        >
          <p>
            The token of <strong>{asked.approver.name}</strong> stops working at once, and the
            sessions that were opened with it end. This cannot be undone.
          </p>
          {isOwn(asked.approver) && <p>It is your own token, so you will be signed out.</p>}
        </ConfirmDialog>
      )}
    </Page>
  )
}

function ApproverTable({
  approvers,
  remove,
}: {
  approvers: readonly Approver[]
  remove: (approver: Approver) => void
}) {
  return (
    <Table columns={['Name', 'Notified by mail', 'Webhook', 'Created']} hasTools>
      {approvers.map((approver) => (
        <tr key={approver.id}>
          <td class="main-cell">
            {approver.name} {isOwn(approver) && <Badge tone="info">You</Badge>}
          </td>
          <td data-label="Notified by mail" class="muted text-cell">
            {approver.email ?? 'No'}
          </td>
          <td data-label="Webhook" class="muted text-cell">
            {approver.webhookUrl ?? (session.value?.approver ? 'No' : 'Shown to approvers')}{' '}
            {approver.webhookDisabledAt !== null && <Badge tone="bad">Disabled</Badge>}
          </td>
          <td data-label="Created" class="nowrap muted">
            <Time at={approver.createdAt} />
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="trash"
              label={`Delete ${approver.name}`}
              onClick={() => remove(approver)}
            />
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function CreateApprover({
  onClose,
  onMade,
}: {
  onClose: () => void
  onMade: (approver: NewApprover) => void
}) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [webhookUrl, setWebhookUrl] = useState('')
  return (
    <FormDialog
      title="New approver"
      action="Create approver"
      onClose={onClose}
      isDisabled={name.trim() === ''}
      submit={async () => {
        const address = email.trim()
        const url = webhookUrl.trim()
        onMade(
          await client.approvers.create({
            name: name.trim(),
            ...(address !== '' && { email: address }),
            ...(url !== '' && { webhookUrl: url }),
          }),
        )
      }}
    >
      {(fields) => (
        <>
          <TextField
            label="Name"
            name="name"
            value={name}
            onValue={setName}
            error={fields.name}
            autocomplete="off"
            autofocus
          />
          <TextField
            label="Email (optional)"
            name="email"
            type="email"
            value={email}
            onValue={setEmail}
            error={fields.email}
            hint="Receives a notification of held mail. The address must not be on a domain of this service."
            autocomplete="off"
          />
          <TextField
            label="Webhook URL (optional)"
            name="webhookUrl"
            type="url"
            value={webhookUrl}
            onValue={setWebhookUrl}
            error={fields.webhookUrl}
            hint="Receives an event when mail is held, edited, commented on or decided. API keys of the account cannot see this URL."
            autocomplete="off"
          />
        </>
      )}
    </FormDialog>
  )
}

function isOwn({ id }: Approver): boolean {
  return id === session.value?.approver?.id
}
