// Quarantined mail, to release or delete.

import { shownLine, shownText } from '@mailroom/mail/unseen.ts'
import type { QuarantinedMessage } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatMoment, formatSize, plural, quoteSubject, subjectOf } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { SenderBadge, SenderTruth } from '#mail/sender-truth.tsx'
import { ActionButton, Button } from '#parts/button.tsx'
import { ConfirmDialog, Dialog } from '#parts/dialog.tsx'
import { Icon } from '#parts/icon.tsx'
import { Loaded } from '#parts/loaded.tsx'
import { Empty, Notice } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CodeBlock, Facts, PersonName, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'
import { Tabs } from '#parts/tabs.tsx'

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
          Mail that a <a href={paths.rules}>sender rule</a> kept out of the inboxes. Programs are
          notified only of its arrival. It is deleted after 30 days.
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
          <QuarantineTable items={list.items} ask={setAsked} />
        </PagedList>
      </div>
      {list.total > 0 && <p class="hint below">{plural(list.total, 'message')} in quarantine.</p>}
      {asked?.kind === 'look' && (
        <Preview message={asked.message} release={() => release(asked.message)} onClose={close} />
      )}
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
            {quoteSubject(asked.message)} from {shownLine(asked.message.fromAddr)} will be deleted.
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
}: {
  items: readonly QuarantinedMessage[]
  ask: (asked: Asked) => void
}) {
  return (
    <Table columns={['Message', 'To', 'Reason', 'Received']} hasTools>
      {items.map((message) => (
        <tr key={message.id}>
          <td class="main-cell">
            <span class="bounded" title={subjectOf(message)}>
              {subjectOf(message)}
            </span>
            <span class="sub">
              <span class="bounded">
                <PersonName text={message.fromAddr} />
              </span>{' '}
              <SenderBadge message={message} />
            </span>
          </td>
          <td data-label="To" class="muted text-cell">
            {shownLine(message.toAddr)}
          </td>
          <td class="muted">{reasons[message.reason]}</td>
          <td data-label="Received" class="nowrap muted">
            <Time at={message.createdAt} />
          </td>
          <RowTools>
            <Button
              label={`View ${message.subject || 'the message'}`}
              onClick={() => ask({ kind: 'look', message })}
            >
              View
            </Button>
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

type View = 'text' | 'sender' | 'source'

/** Shows the sender, the reason for the quarantine, and the text. The HTML is never rendered. */
function Preview({
  message,
  release,
  onClose,
}: {
  message: QuarantinedMessage
  release: () => Promise<unknown>
  onClose: () => void
}) {
  const [view, setView] = useState<View>('text')
  const { id, fromAddr, toAddr, reason, createdAt, expiresAt, authentication } = message
  return (
    <Dialog title={subjectOf(message)} onClose={onClose} size="wide">
      <div class="stack">
        {reason === 'malware' && (
          <Notice tone="warn" title="The virus scanner found malware">
            Do not open any file of this message.
          </Notice>
        )}
        <p>
          <SenderBadge message={message} />
        </p>
        <Facts
          lines={[
            ['From', fromAddr],
            ['To', toAddr],
            ['Reason', reasons[reason]],
            ['Received', formatMoment(createdAt)],
            ['Deleted on', formatMoment(expiresAt)],
          ]}
        />
        <Tabs<View>
          label="Views of the message"
          current={view}
          onCurrent={setView}
          tabs={[
            { name: 'text', text: 'Text', body: () => <HeldText id={id} /> },
            {
              name: 'sender',
              text: 'Authentication',
              body: () => <SenderTruth message={{ authentication }} />,
            },
            { name: 'source', text: 'Source', body: () => <HeldSource id={id} /> },
          ]}
        />
        <div class="form-actions">
          <Button onClick={onClose}>Close</Button>
          <ActionButton action={release}>Release to the inbox</ActionButton>
        </div>
      </div>
    </Dialog>
  )
}

function HeldText({ id }: { id: string }) {
  const content = useResource(`quarantined text ${id}`, (signal) =>
    client.quarantine.get(id, { signal }),
  )
  return (
    <Loaded resource={content} label="Loading the text">
      {({ bodyText, isTruncated, attachments }) => (
        <>
          {bodyText.trim() === '' ? (
            <p class="muted">The message has no text.</p>
          ) : (
            <div class="mail-text">{shownText(bodyText)}</div>
          )}
          {isTruncated && <p class="hint">Only the beginning of this long message is shown.</p>}
          {attachments.length > 0 && (
            <ul class="files" aria-label="Attachments">
              {attachments.map(({ filename, sizeBytes }) => (
                <li key={filename}>
                  <span class="file">
                    <Icon name="attach" size={16} />
                    <span class="file-name">{shownLine(filename)}</span>
                    <span class="muted">{formatSize(sizeBytes)}</span>
                  </span>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Loaded>
  )
}

/** Enough text to recognize the message. */
const SHOWN_LENGTH_MAX = 200_000

function HeldSource({ id }: { id: string }) {
  const raw = useResource(`quarantined ${id}`, async (signal) => {
    const file = await client.quarantine.raw(id, { signal })
    return new TextDecoder().decode(file.content)
  })
  return (
    <Loaded resource={raw} label="Loading the source">
      {(text) => (
        <>
          {text.length > SHOWN_LENGTH_MAX && (
            <p class="hint">Only the beginning of this long message is shown.</p>
          )}
          <CodeBlock label="Raw message" text={text.slice(0, SHOWN_LENGTH_MAX)} />
        </>
      )}
    </Loaded>
  )
}
