// Exports and imports of an inbox's mail.

import type { Export, Import } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { describeFailure } from '#data/failure.ts'
import { formatDay, formatNumber, formatSize, plural, podName } from '#data/format.ts'
import { announceMailChange } from '#data/live.ts'
import { ownAddress, paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { uploadingClient } from '#data/upload.ts'
import { useEvery } from '#data/use-every.ts'
import { useResource } from '#data/use-resource.ts'
import { ActionButton, Button, ButtonLink } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { CheckField, SelectField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { Badge, Empty, Notice, type Tone } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { RowTools, Table } from '#parts/table.tsx'

export function TransfersPage() {
  const { inboxId = '' } = useRoute().params
  const inbox = useResource(`inbox ${inboxId}`, (signal) => client.inboxes.get(inboxId, { signal }))
  return (
    <Page
      title="Export and import"
      intro="The mail of the inbox as a file, and mail from files into the inbox."
      above={
        <a class="way-back" href={paths.inbox(inboxId)}>
          <Icon name="back" size={14} />
          {inbox.value?.address ?? 'Inbox'}
        </a>
      }
    >
      <Exports inboxId={inboxId} podId={inbox.value?.podId ?? null} />
      <ImportSection inboxId={inboxId} />
    </Page>
  )
}

const formats = [
  { value: 'mbox', text: 'mbox, one file' },
  { value: 'maildir', text: 'Maildir, a tar archive' },
  { value: 'jsonl', text: 'JSON lines, with labels and states' },
] as const
type Format = (typeof formats)[number]['value']

const statuses: Readonly<Record<Export['status'], { tone: Tone; word: string }>> = {
  queued: { tone: 'info', word: 'Queued' },
  running: { tone: 'info', word: 'Running' },
  done: { tone: 'good', word: 'Ready' },
  failed: { tone: 'bad', word: 'Failed' },
  expired: { tone: 'calm', word: 'Expired' },
}

const ASK_MS = 1_000
/** Download URLs are valid for 15 minutes. */
const LINK_MS = 10 * 60_000

function isUnderWay({ status }: { status: string }): boolean {
  return status === 'queued' || status === 'running'
}

type Scope = 'inbox' | 'pod'

function Exports({ inboxId, podId }: { inboxId: string; podId: string | null }) {
  const [format, setFormat] = useState<Format>('mbox')
  const [scope, setScope] = useState<Scope>('inbox')
  const pod = useResource(podId === null ? null : `pod ${podId}`, (signal) =>
    client.pods.get(podId ?? '', { signal }),
  )
  const list = usePaged(`exports ${inboxId}`, (bounds) => client.exports.list(bounds).page())
  const own = list.items.filter(
    (one) => one.inboxId === inboxId || (one.podId !== null && one.podId === podId),
  )
  useEvery(own.some(isUnderWay) ? ASK_MS : LINK_MS, list.reload)
  return (
    <Section title="Export">
      <div class="toolbar">
        <SelectField
          label="What"
          name="scope"
          value={scope}
          options={[
            { value: 'inbox', text: 'This inbox' },
            {
              value: 'pod',
              text: pod.value
                ? `Every inbox of the pod ${podName(pod.value)}`
                : 'Every inbox of its pod',
            },
          ]}
          onValue={(value) => setScope(value === 'pod' ? 'pod' : 'inbox')}
        />
        <SelectField
          label="Format"
          name="format"
          value={format}
          options={formats}
          onValue={(value) =>
            setFormat(formats.find((one) => one.value === value)?.value ?? 'mbox')
          }
        />
        <ActionButton
          kind="primary"
          icon="download"
          isDisabled={scope === 'pod' && podId === null}
          action={async () => {
            const what = scope === 'pod' && podId !== null ? { podId } : { inboxId }
            await client.exports.create({ ...what, format })
            list.reload()
          }}
        >
          Start export
        </ActionButton>
      </div>
      <p class="hint">
        Every message except the trash, as it was received or sent. The file can be downloaded for
        seven days, or until ten newer exports are done.
      </p>
      <div class="panel below">
        <PagedList
          list={list}
          label="exports"
          rows={2}
          empty={<Empty icon="download" title="No exports yet" />}
        >
          {own.length === 0 ? (
            <Empty
              icon="download"
              title={
                list.total > list.size ? 'No exports of this inbox on this page' : 'No exports yet'
              }
            />
          ) : (
            <ExportTable exports={own} onDeleted={list.reload} />
          )}
        </PagedList>
      </div>
    </Section>
  )
}

function ExportTable({
  exports,
  onDeleted,
}: {
  exports: readonly Export[]
  onDeleted: () => void
}) {
  const [doomed, setDoomed] = useState<string | null>(null)
  return (
    <>
      <Table columns={['Export', 'Status', 'Created']} hasTools>
        {exports.map(({ id, format, status, progress, podId, sizeBytes, url, ...rest }) => (
          <tr key={id}>
            <td class="main-cell">
              {formats.find(({ value }) => value === format)?.text ?? format}
              {podId !== null && <span class="sub">Every inbox of the pod</span>}
            </td>
            <td>
              <Badge tone={statuses[status].tone}>{statuses[status].word}</Badge>
              {isUnderWay({ status }) && (
                <Progress
                  label="Messages written"
                  done={progress.done}
                  total={progress.total}
                  text={`${formatNumber(progress.done)} of ${plural(progress.total, 'message')}`}
                />
              )}
              {status === 'done' && (
                <span class="sub">
                  {plural(progress.done, 'message')}
                  {sizeBytes !== null && `, ${formatSize(sizeBytes)}`}
                  {rest.expiresAt !== null && `, until ${formatDay(rest.expiresAt)}`}
                </span>
              )}
              {rest.errorMessage !== null && <span class="sub">{rest.errorMessage}</span>}
            </td>
            <td data-label="Created" class="nowrap muted">
              <Time at={rest.createdAt} />
            </td>
            <RowTools>
              {url !== null && (
                <ButtonLink icon="download" href={ownAddress(url)} download={id}>
                  Download
                </ButtonLink>
              )}
              <Button icon="trash" kind="quiet" label="Delete" onClick={() => setDoomed(id)} />
            </RowTools>
          </tr>
        ))}
      </Table>
      {doomed !== null && (
        <ConfirmDialog
          title="Delete the export?"
          action="Delete"
          submit={async () => {
            await client.exports.delete(doomed)
            setDoomed(null)
            onDeleted()
          }}
          onClose={() => setDoomed(null)}
        >
          <p>Its file can no longer be downloaded.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function Progress({
  label,
  done,
  total,
  text,
}: {
  label: string
  done: number
  total: number
  text: string
}) {
  return (
    <div class="progress">
      <progress aria-label={label} value={total === 0 ? 0 : done / total} />
      <span class="muted">{text}</span>
    </div>
  )
}

type Importing =
  | { at: 'file' }
  | { at: 'upload'; part: number }
  | { at: 'job'; id: string }
  | { at: 'refused'; error: unknown }

function ImportSection({ inboxId }: { inboxId: string }) {
  const [file, setFile] = useState<File | null>(null)
  const [isRead, setIsRead] = useState(false)
  const [state, setState] = useState<Importing>({ at: 'file' })
  const start = async () => {
    if (file === null || state.at === 'upload') return
    setState({ at: 'upload', part: 0 })
    try {
      const sender = uploadingClient((part) => setState({ at: 'upload', part }))
      const { id } = await sender.imports.create(inboxId, file, {
        isRead,
        timeoutMs: UPLOAD_MS_MAX,
      })
      setState({ at: 'job', id })
    } catch (error) {
      setState({ at: 'refused', error })
    }
  }
  return (
    <Section title="Import">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void start()
        }}
      >
        <div class="field">
          <label for="import-file">File</label>
          <input
            id="import-file"
            type="file"
            onChange={(event) => {
              setFile(event.currentTarget.files?.[0] ?? null)
              setState({ at: 'file' })
            }}
            aria-describedby="import-hint"
          />
          <p class="hint" id="import-hint">
            mbox, a tar archive of a Maildir, the JSON lines of an export, or one message (.eml).
            Dates, threads and read states are kept. A message that the inbox already has is not
            stored again, and an import emits no events.
          </p>
        </div>
        <CheckField
          label="Mark messages without a read flag as read"
          name="isRead"
          isChecked={isRead}
          onChecked={setIsRead}
        />
        <div>
          <Button
            type="submit"
            kind="primary"
            isBusy={state.at === 'upload'}
            isDisabled={file === null}
          >
            Import
          </Button>
        </div>
      </form>
      <div class="below" aria-live="polite">
        {state.at === 'upload' && (
          <Progress
            label="Upload"
            done={state.part}
            total={1}
            text={`${Math.round(state.part * 100)} % uploaded`}
          />
        )}
        {state.at === 'refused' && <Refused error={state.error} />}
        {state.at === 'job' && <ImportJob key={state.id} id={state.id} inboxId={inboxId} />}
      </div>
    </Section>
  )
}

/** The service processes a file while it arrives, so a large one takes as long as its upload. */
const UPLOAD_MS_MAX = 24 * 3_600_000

function Refused({ error }: { error: unknown }) {
  const { message, fix } = describeFailure(error)
  return (
    <Notice tone="bad" title={message}>
      {fix}
    </Notice>
  )
}

function ImportJob({ id, inboxId }: { id: string; inboxId: string }) {
  const job = useResource(`import ${id}`, async (signal) => {
    const known = await client.imports.get(id, { signal })
    if (!isUnderWay(known)) announceMailChange(inboxId)
    return known
  })
  const known = job.value
  useEvery(known === undefined || isUnderWay(known) ? ASK_MS : null, job.reload)
  if (known === undefined) return job.error ? <Refused error={job.error} /> : null
  if (isUnderWay(known)) {
    const { done, total } = known.progress
    return (
      <Progress
        label="File read"
        done={done}
        total={total}
        text={`${formatSize(done)} of ${formatSize(total)} read, ${plural(known.imported, 'message')} imported${known.errorMessage === null ? '' : `. It will be retried: ${known.errorMessage}`}`}
      />
    )
  }
  return <ImportResult known={known} />
}

function ImportResult({ known }: { known: Import }) {
  const { status, imported, duplicates, failed, failures, skipped, errorMessage } = known
  const mails = skipped.trash + skipped.spam + skipped.draft
  const isWhole = status === 'done' && failed === 0
  return (
    <Notice
      tone={status === 'failed' ? 'bad' : isWhole ? 'good' : 'warn'}
      title={status === 'failed' ? 'The import failed' : `${plural(imported, 'message')} imported`}
    >
      {errorMessage !== null && <p>{errorMessage}</p>}
      {status === 'failed' && imported > 0 && <p>{plural(imported, 'message')} imported before.</p>}
      {duplicates > 0 && <p>{plural(duplicates, 'message')} already in the inbox.</p>}
      {mails > 0 && <p>{plural(mails, 'message')} skipped: trash, spam and drafts.</p>}
      {skipped.unfinished + skipped.otherFile > 0 && (
        <p>
          {plural(skipped.unfinished + skipped.otherFile, 'file')} skipped that are not messages.
        </p>
      )}
      {failed > 0 && <p>{plural(failed, 'message')} could not be imported:</p>}
      {failed > 0 && (
        <ul class="failures">
          {failures.map(({ number, name, reason }) => (
            <li key={number}>
              <strong>{name ?? `Message ${number}`}</strong>: {reason}
            </li>
          ))}
          {failed > failures.length && <li>… and {formatNumber(failed - failures.length)} more</li>}
        </ul>
      )}
    </Notice>
  )
}
