// Inboxes by pod; forms that create, rename and delete them.

import type { Inbox, Pod } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatNumber, plural, podName } from '#data/format.ts'
import { readInboxes } from '#data/inbox-list.ts'
import { useMailChanges } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { InboxRetention, retentionWords, WiderRetention } from '#mail/retention.tsx'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, FormDialog } from '#parts/dialog.tsx'
import { AreaField, SelectField, TextField } from '#parts/field.tsx'
import { Badge, Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CopyButton, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'
import { CreateInbox } from './create-inbox.tsx'

type Asked =
  | { kind: 'create' }
  | { kind: 'rename'; inbox: Inbox }
  | { kind: 'signature'; inbox: Inbox }
  | { kind: 'retention'; inbox: Inbox }
  | { kind: 'wider-retention' }
  | { kind: 'delete'; inbox: Inbox }
  | null

export function InboxesPage() {
  const [podId, setPodId] = useState('')
  const [asked, setAsked] = useState<Asked>(null)
  const pods = useResource('pods', (signal) => client.pods.list({ limit: 100, signal }).page())
  const inboxes = usePaged(`inboxes ${podId}`, (bounds) =>
    client.inboxes.list({ ...bounds, ...(podId !== '' && { podId }) }).page(),
  )
  useMailChanges(null, inboxes.reload)
  const podList = pods.value?.data ?? []
  const close = () => setAsked(null)
  const done = (text: string) => {
    toast(text)
    close()
    inboxes.reload()
  }
  return (
    <Page
      title="Inboxes"
      intro="Each inbox is an address that receives and sends mail."
      actions={
        <>
          <Button icon="clock" onClick={() => setAsked({ kind: 'wider-retention' })}>
            How long mail is kept
          </Button>
          <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'create' })}>
            New inbox
          </Button>
        </>
      }
    >
      {podList.length > 1 && (
        <div class="toolbar">
          <SelectField
            label="Pod"
            name="pod"
            value={podId}
            onValue={setPodId}
            options={[
              { value: '', text: 'All pods' },
              ...podList.map((pod) => ({ value: pod.id, text: podName(pod) })),
            ]}
          />
        </div>
      )}
      <div class="panel">
        <PagedList
          list={inboxes}
          label="inboxes"
          empty={
            <Empty
              icon="inbox"
              title={podId === '' ? 'No inboxes yet' : 'No inboxes in this pod'}
              actions={
                <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'create' })}>
                  New inbox
                </Button>
              }
            >
              Create one, and it can send and receive mail right away.
            </Empty>
          }
        >
          <InboxTable inboxes={inboxes.items} pods={podList} ask={setAsked} />
        </PagedList>
      </div>
      {inboxes.total > 0 && (
        <p class="hint below">{plural(inboxes.total, 'inbox', 'inboxes')} in total.</p>
      )}
      {asked?.kind === 'create' && <CreateInbox podId={podId} onClose={close} />}
      {asked?.kind === 'rename' && (
        <RenameInbox
          inbox={asked.inbox}
          onClose={close}
          onDone={() => done('Display name saved')}
        />
      )}
      {asked?.kind === 'signature' && (
        <SignatureDialog
          inbox={asked.inbox}
          onClose={close}
          onDone={() => done('Signature saved')}
        />
      )}
      {asked?.kind === 'retention' && (
        <InboxRetention inbox={asked.inbox} onClose={close} onDone={() => done('Saved')} />
      )}
      {asked?.kind === 'wider-retention' && (
        <WiderRetention
          pods={podList}
          onClose={close}
          onDone={() => {
            done('Saved')
            pods.reload()
          }}
        />
      )}
      {asked?.kind === 'delete' && (
        <ConfirmDialog
          title="Delete this inbox?"
          action="Delete inbox"
          typed={asked.inbox.address}
          onClose={close}
          submit={async () => {
            await client.inboxes.delete(asked.inbox.id)
            void readInboxes()
            done(`${asked.inbox.address} deleted`)
          }}
        >
          <p>
            <strong>{asked.inbox.address}</strong> will be deleted with all its messages, threads
            and attachments, and mail to it will be refused. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function InboxTable({
  inboxes,
  pods,
  ask,
}: {
  inboxes: readonly Inbox[]
  pods: readonly Pod[]
  ask: (asked: Asked) => void
}) {
  const names = new Map(pods.map((pod) => [pod.id, pod]))
  return (
    <Table columns={['Address', 'Pod', 'Unread', 'Last message', 'Created']} hasTools>
      {inboxes.map((inbox) => {
        const pod = names.get(inbox.podId)
        return (
          <tr key={inbox.id}>
            <td class="main-cell">
              <a href={paths.inbox(inbox.id)}>{inbox.address}</a>
              {inbox.displayName && <span class="sub">{inbox.displayName}</span>}
              {retentionWords(inbox) !== '' && <span class="sub">{retentionWords(inbox)}</span>}
            </td>
            <td>
              <Badge>{pod ? podName(pod) : inbox.podId}</Badge>
            </td>
            <td data-label="Unread" class="nowrap">
              {inbox.unreadThreads === 0 ? (
                <span class="muted">0</span>
              ) : (
                <strong>{formatNumber(inbox.unreadThreads)}</strong>
              )}
            </td>
            <td data-label="Last message" class="nowrap muted">
              {inbox.lastMessageAt === null ? 'None' : <Time at={inbox.lastMessageAt} />}
            </td>
            <td data-label="Created" class="nowrap muted">
              <Time at={inbox.createdAt} />
            </td>
            <RowTools>
              <CopyButton text={inbox.address} label={`address ${inbox.address}`} />
              <Button
                kind="quiet"
                icon="edit"
                label={`Rename ${inbox.address}`}
                onClick={() => ask({ kind: 'rename', inbox })}
              />
              <Button
                kind="quiet"
                icon="person"
                label={`Signature of ${inbox.address}`}
                onClick={() => ask({ kind: 'signature', inbox })}
              />
              <Button
                kind="quiet"
                icon="clock"
                label={`How long ${inbox.address} keeps mail`}
                onClick={() => ask({ kind: 'retention', inbox })}
              />
              <Button
                kind="quiet"
                icon="trash"
                label={`Delete ${inbox.address}`}
                onClick={() => ask({ kind: 'delete', inbox })}
              />
            </RowTools>
          </tr>
        )
      })}
    </Table>
  )
}

function SignatureDialog({
  inbox,
  onClose,
  onDone,
}: {
  inbox: Inbox
  onClose: () => void
  onDone: () => void
}) {
  const [signature, setSignature] = useState(inbox.signature ?? '')
  return (
    <FormDialog
      title={`Signature of ${inbox.address}`}
      action="Save"
      onClose={onClose}
      submit={async () => {
        const trimmed = signature.trim()
        await client.inboxes.update(inbox.id, { signature: trimmed === '' ? null : trimmed })
        onDone()
      }}
    >
      {(fields) => (
        <AreaField
          label="Signature"
          name="signature"
          value={signature}
          onValue={setSignature}
          error={fields.signature}
          hint="Markdown that is added below the text of every message from the inbox."
          autofocus
        />
      )}
    </FormDialog>
  )
}

function RenameInbox({
  inbox,
  onClose,
  onDone,
}: {
  inbox: Inbox
  onClose: () => void
  onDone: () => void
}) {
  const [displayName, setDisplayName] = useState(inbox.displayName ?? '')
  return (
    <FormDialog
      title={`Rename ${inbox.address}`}
      action="Save"
      onClose={onClose}
      submit={async () => {
        const trimmed = displayName.trim()
        await client.inboxes.update(inbox.id, { displayName: trimmed === '' ? null : trimmed })
        onDone()
      }}
    >
      {(fields) => (
        <TextField
          label="Display name"
          name="displayName"
          value={displayName}
          onValue={setDisplayName}
          error={fields.displayName}
          hint="The name that recipients see. The address does not change."
          autocomplete="off"
          autofocus
        />
      )}
    </FormDialog>
  )
}
