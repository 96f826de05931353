// API keys: create one (its token is shown once) or revoke one.

import type { ApiKey, NewApiKey } from '@mailroom/sdk'
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
  | { kind: 'made'; key: NewApiKey }
  | { kind: 'revoke'; key: ApiKey }
  | null

export function KeysPage() {
  const [asked, setAsked] = useState<Asked>(null)
  const list = usePaged('keys', (bounds) => client.apiKeys.list(bounds).page())
  const close = () => setAsked(null)
  return (
    <Page
      title="API keys"
      intro="Every key has full access to the account. Give each program its own key, so that you can revoke them one by one."
      actions={
        <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'create' })}>
          New key
        </Button>
      }
    >
      <div class="panel">
        <PagedList list={list} label="keys" empty={<Empty icon="key" title="No active keys" />}>
          <KeyTable keys={list.items} revoke={(key) => setAsked({ kind: 'revoke', key })} />
        </PagedList>
      </div>
      {asked?.kind === 'create' && (
        <CreateKey
          onClose={close}
          onMade={(key) => {
            setAsked({ kind: 'made', key })
            list.reload()
          }}
        />
      )}
      {asked?.kind === 'made' && (
        <SecretDialog
          title={asked.key.name ? `Key “${asked.key.name}” created` : 'Key created'}
          label="token"
          value={asked.key.token}
          onClose={close}
        >
          The service stores only a hash of it.
        </SecretDialog>
      )}
      {asked?.kind === 'revoke' && (
        <RevokeKey
          revoked={asked.key}
          onClose={close}
          onDone={() => {
            toast('Key revoked')
            close()
            list.reload()
          }}
        />
      )}
    </Page>
  )
}

function KeyTable({ keys, revoke }: { keys: readonly ApiKey[]; revoke: (key: ApiKey) => void }) {
  return (
    <Table columns={['Name', 'Token', 'Created', 'Last used']} hasTools>
      {keys.map((key) => (
        <tr key={key.id}>
          <td class="main-cell">
            {key.name ?? 'Unnamed'} {isOwn(key) && <Badge tone="info">This session</Badge>}
          </td>
          <td class="nowrap">
            <code>{tokenOf(key)}</code>
          </td>
          <td data-label="Created" class="nowrap muted">
            <Time at={key.createdAt} />
          </td>
          <td data-label="Last used" class="nowrap muted">
            {key.lastUsedAt === null ? 'Never' : <Time at={key.lastUsedAt} />}
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="trash"
              label={`Revoke ${key.name ?? tokenOf(key)}`}
              onClick={() => revoke(key)}
            />
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function CreateKey({ onClose, onMade }: { onClose: () => void; onMade: (key: NewApiKey) => void }) {
  const [name, setName] = useState('')
  return (
    <FormDialog
      title="New API key"
      action="Create key"
      onClose={onClose}
      submit={async () => {
        const trimmed = name.trim()
        onMade(await client.apiKeys.create(trimmed === '' ? {} : { name: trimmed }))
      }}
    >
      {(fields) => (
        <TextField
          label="Name"
          name="name"
          value={name}
          onValue={setName}
          error={fields.name}
          hint="The program that will use the key."
          autocomplete="off"
          autofocus
        />
      )}
    </FormDialog>
  )
}

function RevokeKey({
  revoked,
  onClose,
  onDone,
}: {
  revoked: ApiKey
  onClose: () => void
  onDone: () => void
}) {
  return (
    <ConfirmDialog
      title="Revoke this key?"
      action="Revoke key"
      onClose={onClose}
      submit={async () => {
        await client.apiKeys.delete(revoked.id)
        onDone()
      }}
    >
      <p>
        Requests with <strong>{revoked.name ?? tokenOf(revoked)}</strong> are refused immediately,
        and its WebSockets are closed. This cannot be undone.
      </p>
      {isOwn(revoked) && <p>You signed in with this key, so you will be signed out.</p>}
    </ConfirmDialog>
  )
}

function isOwn({ id }: ApiKey): boolean {
  return id === session.value?.key?.id
}

function tokenOf({ tokenPrefix, last4 }: ApiKey): string {
  return `${tokenPrefix}…${last4}`
}
