// Quarantined mail: release it, show its source or delete it.

import type { QuarantinedMessage } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { plural } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { ActionButton, Button } from '#parts/button.tsx'
import { ConfirmDialog, Dialog } from '#parts/dialog.tsx'
import { Badge, Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CodeBlock, PersonName, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

type Asked = { kind: 'look' | 'delete'; message: QuarantinedMessage } | null

const reasons: Record<QuarantinedMessage['reason'], string> = {
  blocked: 'Sender is blocked',
  not_allowed: 'Sender is not allowed',
  not_verified: 'Allowed sender, but not verified',
  malware: 'Malware',
}

export function QuarantinePage() {
  const { route } = useLocation()
  const [asked, setAsked] = useState<Asked>(null)
  const list = usePaged('quarantine', (bounds) => client.quarantine.list(bounds).page())
  const close = () => setAsked(null)
  const release = async ({ id }: QuarantinedMessage) => {
    const message = await client.quarantine.release(id)
    toast('Released to its inbox')
    close()
    list.reload()
    route(paths.thread(message.inboxId, message.threadId))
  }
  return (
    <Page
      title="Quarantine"
      intro={
        <>
          Mail that a <a href={paths.rules}>sender rule</a> kept out of the inboxes. It caused no
          events, and is deleted after 30 days.
        </>
      }
    >
      <div class="panel">
        <PagedList
          list={list}
          label="quarantined mail"
          empty={
            <Empty icon="shield" title="Nothing in quarantine">
              Mail is quarantined when a sender rule blocks its sender, or when mail is accepted
              from allowed senders only.
            </Empty>
          }
        >
          <QuarantineTable items={list.items} ask={setAsked} release={release} />
        </PagedList>
      </div>
      {list.total > 0 && <p class="hint below">{plural(list.total, 'message')} in quarantine.</p>}
      {asked?.kind === 'look' && <RawDialog message={asked.message} onClose={close} />}
      {asked?.kind === 'delete' && (
        <ConfirmDialog
          title="Delete this message?"
          action="Delete message"
          onClose={close}
          submit={async () => {
            await client.quarantine.delete(asked.message.id)
            toast('Message deleted')
            close()
            list.reload()
          }}
        >
          <p>
            “{asked.message.subject || 'No subject'}” from {asked.message.fromAddr} will be deleted.
            This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function QuarantineTable({
  items,
  ask,
  release,
}: {
  items: readonly QuarantinedMessage[]
  ask: (asked: Asked) => void
  release: (message: QuarantinedMessage) => Promise<void>
}) {
  return (
    <Table columns={['Message', 'To', 'Reason', 'Arrived']} hasTools>
      {items.map((message) => (
        <tr key={message.id}>
          <td class="main-cell">
            {message.subject || 'No subject'}
            <span class="sub">
              <PersonName text={message.fromAddr} />{' '}
              {message.authentication?.verifiedFrom ? (
                <Badge tone="good">Verified</Badge>
              ) : (
                <Badge tone="warn">Not verified</Badge>
              )}
            </span>
          </td>
          <td data-label="To" class="muted">
            {message.toAddr}
          </td>
          <td class="muted">{reasons[message.reason]}</td>
          <td data-label="Arrived" class="nowrap muted">
            <Time at={message.createdAt} />
          </td>
          <RowTools>
            <Button
              kind="quiet"
              icon="code"
              label={`Show the source of ${message.subject || 'the message'}`}
              onClick={() => ask({ kind: 'look', message })}
            />
            <ActionButton action={() => release(message)}>Release</ActionButton>
            <Button
              kind="quiet"
              icon="trash"
              label={`Delete ${message.subject || 'the message'}`}
              onClick={() => ask({ kind: 'delete', message })}
            />
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

/** Enough to recognise the message. */
const SHOWN_LENGTH_MAX = 200_000

function RawDialog({ message, onClose }: { message: QuarantinedMessage; onClose: () => void }) {
  const raw = useResource(`quarantined ${message.id}`, async (signal) => {
    const file = await client.quarantine.raw(message.id, { signal })
    return new TextDecoder().decode(file.content)
  })
  return (
    <Dialog title={message.subject || 'No subject'} onClose={onClose} size="wide">
      {raw.error ? (
        <Trouble error={raw.error} retry={raw.reload} />
      ) : raw.value === undefined ? (
        <Skeleton label="Loading the source" />
      ) : (
        <>
          {raw.value.length > SHOWN_LENGTH_MAX && (
            <p class="hint">Only the beginning of this long message is shown.</p>
          )}
          <CodeBlock label="Raw message" text={raw.value.slice(0, SHOWN_LENGTH_MAX)} />
        </>
      )}
    </Dialog>
  )
}
