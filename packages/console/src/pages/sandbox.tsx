// Captured mail of the sandbox, and a form that simulates incoming mail.

import type { CapturedMessage } from '@mailroom/sdk'
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { formatSize, plural } from '#data/format.ts'
import { useMailChanges } from '#data/live.ts'
import { ownAddress, paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, Dialog, FormDialog } from '#parts/dialog.tsx'
import { AreaField, SelectField, TextField } from '#parts/field.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { CodeBlock, Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

type Asked =
  | { kind: 'receive' }
  | { kind: 'clear' }
  | { kind: 'look'; mail: CapturedMessage }
  | null

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
      intro="No mail leaves this machine. Messages to outside addresses are captured here, and you can simulate incoming mail."
      actions={
        <>
          {list.total > 0 && (
            <Button icon="trash" onClick={() => setAsked({ kind: 'clear' })}>
              Clear
            </Button>
          )}
          <Button kind="primary" icon="plus" onClick={() => setAsked({ kind: 'receive' })}>
            Simulate incoming mail
          </Button>
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
      {asked?.kind === 'receive' && <ReceiveMail onClose={close} />}
      {asked?.kind === 'clear' && (
        <ConfirmDialog
          title="Clear the sandbox?"
          action="Clear"
          onClose={close}
          submit={async () => {
            await client.sandbox.clear()
            toast('Sandbox cleared')
            close()
            list.reload()
          }}
        >
          <p>Deletes the captured mail. The messages in your inboxes stay.</p>
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
            <a href={paths.thread(mail.inboxId, mail.threadId)}>{mail.subject || 'No subject'}</a>
            <span class="sub">{mail.from}</span>
          </td>
          <td data-label="To" class="muted">
            {mail.to.join(', ')}
          </td>
          <td data-label="Captured" class="nowrap muted">
            <Time at={mail.createdAt} />
          </td>
          <RowTools>
            <Button onClick={() => look(mail)}>Show</Button>
          </RowTools>
        </tr>
      ))}
    </Table>
  )
}

function LookAt({ mail, onClose }: { mail: CapturedMessage; onClose: () => void }) {
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
    <Dialog title={mail.subject || 'No subject'} onClose={onClose} size="wide">
      <div class="stack">
        <dl class="facts">
          {facts
            .filter(([, value]) => value !== '')
            .map(([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </Fragment>
            ))}
        </dl>
        <CodeBlock label="Text of the message" text={mail.text} />
        {mail.attachments.length > 0 && (
          <ul class="files" aria-label="Attachments">
            {mail.attachments.map(({ filename, sizeBytes, url }) => (
              <li key={url} class="file">
                <a class="file-name" href={ownAddress(url)} download={filename}>
                  {filename}
                </a>
                <span class="muted">{formatSize(sizeBytes)}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  )
}

const INBOXES_MAX = 100

function ReceiveMail({ onClose }: { onClose: () => void }) {
  const inboxes = useResource('inboxes to receive', (signal) =>
    client.inboxes.list({ limit: INBOXES_MAX, signal }).page(),
  )
  const addresses = (inboxes.value?.data ?? []).map(({ address }) => address)
  const [to, setTo] = useState('')
  const [from, setFrom] = useState('ann@example.com')
  const [subject, setSubject] = useState('')
  const [text, setText] = useState('')
  return (
    <FormDialog
      title="Simulate incoming mail"
      action="Deliver"
      onClose={onClose}
      isDisabled={addresses.length === 0}
      submit={async () => {
        const { data } = await client.sandbox.receive({
          from: from.trim(),
          to: to === '' ? (addresses[0] ?? '') : to,
          subject,
          text,
        })
        toast(data.length > 0 ? 'Delivered to the inbox' : 'Quarantined by a sender rule')
        onClose()
      }}
    >
      {(fields) => (
        <>
          {inboxes.value !== undefined && addresses.length === 0 && (
            <p class="hint">
              There is no inbox yet: <a href={paths.inboxes}>create one</a> first.
            </p>
          )}
          <SelectField
            label="To"
            name="to"
            value={to}
            onValue={setTo}
            options={addresses.map((address, index) => ({
              value: index === 0 ? '' : address,
              text: address,
            }))}
          />
          <TextField
            label="From"
            name="from"
            value={from}
            onValue={setFrom}
            error={fields.from}
            spellcheck={false}
            autocomplete="off"
          />
          <TextField
            label="Subject"
            name="subject"
            value={subject}
            onValue={setSubject}
            error={fields.subject}
            autocomplete="off"
            autofocus
          />
          <AreaField
            label="Text"
            name="text"
            value={text}
            onValue={setText}
            error={fields.text}
            rows={8}
          />
        </>
      )}
    </FormDialog>
  )
}
