// Mail captured by the sandbox.

import type { CapturedMessage } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatSize, plural, subjectOf } from '#data/format.ts'
import { useMailChanges } from '#data/live.ts'
import { ownAddress, paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { HtmlBody } from '#mail/html-body.tsx'
import { MessageSource } from '#mail/message-source.tsx'
import { SimulateButton } from '#mail/simulate-mail.tsx'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, Dialog } from '#parts/dialog.tsx'
import { Icon } from '#parts/icon.tsx'
import { Loaded } from '#parts/loaded.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Facts, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'
import { Tabs } from '#parts/tabs.tsx'

type Asked = { kind: 'clear' } | { kind: 'look'; mail: CapturedMessage } | null

export function SandboxPage() {
  return session.value?.isSandbox ? (
    <Captured />
  ) : (
    <Page title="Sandbox">
      <Empty icon="flask" title="Sandbox mode is off">
        This service delivers mail to the Internet.
      </Empty>
    </Page>
  )
}

function Captured() {
  const [asked, setAsked] = useState<Asked>(null)
  const list = usePaged('sandbox', (bounds) => client.sandbox.list(bounds).page())
  const close = () => setAsked(null)
  useMailChanges(null, list.reload)
  return (
    <Page
      title="Sandbox"
      intro="No mail leaves this machine. Messages to outside addresses are captured here, and you can simulate inbound mail."
      actions={
        <>
          {list.total > 0 && (
            <Button icon="trash" onClick={() => setAsked({ kind: 'clear' })}>
              Clear
            </Button>
          )}
          <SimulateButton kind="primary" icon="plus" />
        </>
      }
    >
      <div class="panel">
        <PagedList
          list={list}
          label="captured mail"
          empty={
            <Empty icon="flask" title="No captured mail yet">
              Messages sent to addresses outside this service appear here.
            </Empty>
          }
        >
          <CapturedTable mails={list.items} look={(mail) => setAsked({ kind: 'look', mail })} />
        </PagedList>
      </div>
      {list.total > 0 && <p class="hint below">{plural(list.total, 'message')} captured.</p>}
      {asked?.kind === 'look' && <LookAt mail={asked.mail} onClose={close} />}
      {asked?.kind === 'clear' && (
        <ConfirmDialog
          title="Clear the sandbox?"
          action="Clear the sandbox"
          onClose={close}
          submit={async () => {
            await client.sandbox.clear()
            toast('Sandbox cleared')
            close()
            list.reload()
          }}
        >
          <p>Deletes the captured mail. The messages in your inboxes are kept.</p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function CapturedTable({
  mails,
  look,
}: {
  mails: readonly CapturedMessage[]
  look: (mail: CapturedMessage) => void
}) {
  return (
    <Table columns={['Message', 'To', 'Captured']} hasTools>
      {mails.map((mail) => (
        <tr key={mail.id}>
          <td class="main-cell">
            <a href={paths.thread(mail.inboxId, mail.threadId)}>{subjectOf(mail)}</a>
            <span class="sub">{mail.from}</span>
          </td>
          <td data-label="To" class="muted text-cell">
            <span class="bounded">{mail.to.join(', ')}</span>
          </td>
          <td data-label="Captured" class="nowrap muted">
            <Time at={mail.createdAt} />
          </td>
          <RowTools>
            <Button label={`View ${mail.subject || 'the message'}`} onClick={() => look(mail)}>
              View
            </Button>
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

type View = 'html' | 'text' | 'source'

function LookAt({ mail, onClose }: { mail: CapturedMessage; onClose: () => void }) {
  const [view, setView] = useState<View>(mail.html === '' ? 'text' : 'html')
  const facts = [
    ['From', mail.from],
    ['To', mail.to.join(', ')],
    ['Cc', mail.cc.join(', ')],
    ['Reply-To', mail.replyTo ?? ''],
    ['Reverse-path', mail.reversePath],
    ['Message-ID', mail.rfcMessageId ?? ''],
    ['In-Reply-To', mail.inReplyTo ?? ''],
  ] as const
  return (
    <Dialog title={subjectOf(mail)} onClose={onClose} size="wide">
      <div class="stack">
        <Facts lines={facts} label="Header" />
        <Tabs<View>
          label="Views of the message"
          current={view}
          onCurrent={setView}
          tabs={[
            { name: 'html', text: 'HTML', body: () => <CapturedHtml mail={mail} /> },
            { name: 'text', text: 'Text', body: () => <CapturedText mail={mail} /> },
            { name: 'source', text: 'Source', body: () => <CapturedSource id={mail.messageId} /> },
          ]}
        />
        {mail.attachments.length > 0 && (
          <ul class="files" aria-label="Attachments">
            {mail.attachments.map(({ filename, sizeBytes, url }) => (
              <li key={url}>
                <a class="file" href={ownAddress(url)} download={filename}>
                  <Icon name="attach" size={16} />
                  <span class="file-name">{filename}</span>
                  <span class="muted">{formatSize(sizeBytes)}</span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  )
}

function CapturedHtml({ mail: { messageId: id, subject, html } }: { mail: CapturedMessage }) {
  if (html === '') return <p class="muted">The message has no HTML.</p>
  return <HtmlBody message={{ id, subject, bodyHtml: html }} />
}

function CapturedText({ mail: { text, isTruncated } }: { mail: CapturedMessage }) {
  if (text.trim() === '') return <p class="muted">The text is empty.</p>
  return (
    <>
      <div class="mail-text">{text}</div>
      {isTruncated && <p class="hint">Only the beginning of this long message is shown.</p>}
    </>
  )
}

/** The stored bytes, as another server would have received them. */
function CapturedSource({ id }: { id: string }) {
  const message = useResource(`captured ${id}`, (signal) => client.messages.get(id, { signal }))
  return (
    <Loaded resource={message} label="Loading the source">
      {(value) => <MessageSource message={value} />}
    </Loaded>
  )
}
