// A saved draft in the composer's form: saved while typing, sent or deleted.

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatMoment } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import {
  type Editing,
  type OpenedDraft,
  openSavedDraft,
  type Problem,
  useSavedDraft,
} from '#data/saved-draft.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { type Held, HeldDialog } from '#mail/composer.tsx'
import { MessageFields, ScheduleField } from '#mail/composer-fields.tsx'
import { Button } from '#parts/button.tsx'
import { ConfirmDialog, Dialog } from '#parts/dialog.tsx'
import { FileArea, FileList } from '#parts/file-picker.tsx'
import { Notice, Skeleton, Trouble } from '#parts/notice.tsx'

export function DraftDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const opened = useResource(`draft ${id}`, (signal) => openSavedDraft(id, signal))
  if (opened.value !== undefined) return <OpenDraft opened={opened.value} onClose={onClose} />
  return (
    <Dialog title="Draft" onClose={onClose} size="wide">
      {opened.error ? (
        <Trouble error={opened.error} retry={opened.reload} />
      ) : (
        <Skeleton label="Loading the draft" />
      )}
    </Dialog>
  )
}

function OpenDraft({ opened, onClose }: { opened: OpenedDraft; onClose: () => void }) {
  const { route } = useLocation()
  const editing = useSavedDraft(opened)
  const [held, setHeld] = useState<Held | null>(null)
  const [asked, setAsked] = useState<'delete' | 'leave' | null>(null)
  const [isSending, setIsSending] = useState(false)
  const { saved, isUnsaved, problem } = editing
  if (held !== null) return <HeldDialog held={held} onClose={onClose} />
  const close = async () => {
    if (problem?.kind === 'gone' || !isUnsaved || (await editing.save())) onClose()
    else setAsked('leave')
  }
  const send = async () => {
    setIsSending(true)
    const sent = await editing.send()
    setIsSending(false)
    if (sent === null) return
    const { hold, scheduledAt, inboxId, threadId } = sent
    if (hold !== undefined) {
      setHeld({ ...sent, hold })
      return
    }
    toast(scheduledAt ? `Message scheduled for ${formatMoment(scheduledAt)}` : 'Message queued')
    onClose()
    route(paths.thread(inboxId, threadId))
  }
  if (asked === 'delete') {
    return (
      <ConfirmDialog
        title="Delete this draft?"
        action="Delete draft"
        onClose={() => setAsked(null)}
        submit={async () => {
          await client.drafts.delete(saved.id)
          toast('Draft deleted')
          onClose()
        }}
      >
        <p>The text and the files of the draft are permanently deleted.</p>
      </ConfirmDialog>
    )
  }
  return (
    <Dialog title="Draft" onClose={() => void close()} size="wide">
      {asked === 'leave' && problem?.kind !== 'changed' && (
        <Notice
          tone="warn"
          title="Your last changes are not saved"
          actions={
            <>
              <Button onClick={() => setAsked(null)}>Keep writing</Button>
              <Button kind="danger" onClick={onClose}>
                Close anyway
              </Button>
            </>
          }
        />
      )}
      <DraftForm
        {...{ opened, editing, isSending }}
        onSend={() => void send()}
        onDelete={() => setAsked('delete')}
      />
    </Dialog>
  )
}

function DraftForm({
  opened: { draft },
  editing,
  isSending,
  onSend,
  onDelete,
}: {
  opened: OpenedDraft
  editing: Editing
  isSending: boolean
  onSend: () => void
  onDelete: () => void
}) {
  const { composed, saved, problem, write } = editing
  const errors = problem?.kind === 'failed' ? problem.failure.fields : {}
  const isOver = problem?.kind === 'gone' || problem?.kind === 'changed'
  return (
    <form
      class="form compose"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSending && !isOver) onSend()
      }}
    >
      {problem !== null && <ProblemNotice {...{ problem, editing }} />}
      <FileArea
        picked={[]}
        error={errors.files}
        onPicked={(picked) => void editing.addFiles(picked.map(({ file }) => file))}
      >
        <MessageFields {...{ composed, draft, errors, onComposed: write }} />
        {saved.bodyHtml !== null && (
          <Notice
            tone="info"
            title="The draft has an HTML version, which is sent unchanged"
            actions={<Button onClick={() => void editing.removeHtml()}>Remove it</Button>}
          >
            Editing the text does not change the HTML version.
          </Notice>
        )}
        <ScheduleField
          sendAt={composed.sendAt}
          error={errors.sendAt}
          onSendAt={(sendAt) => write({ ...composed, sendAt })}
        />
      </FileArea>
      <FileList
        files={saved.attachments.map(({ id, filename, size }) => ({ id, name: filename, size }))}
        remove={(id) => void editing.removeFile(id)}
      />
      <div class="form-actions">
        <span class="hint grow" role="status">
          {stateOf(editing)}
        </span>
        <Button icon="trash" onClick={onDelete}>
          Delete
        </Button>
        <Button type="submit" kind="primary" icon="send" isBusy={isSending} isDisabled={isOver}>
          {composed.sendAt === null ? 'Send' : 'Schedule'}
        </Button>
      </div>
    </form>
  )
}

function stateOf({ isBusy, isUnsaved, problem }: Editing): string {
  if (isBusy) return 'Saving…'
  if (problem !== null && isUnsaved) return 'Not saved'
  return isUnsaved ? 'Saving soon' : 'Saved'
}

function ProblemNotice({ problem, editing }: { problem: Problem; editing: Editing }) {
  switch (problem.kind) {
    case 'failed': {
      const { message, fix } = problem.failure
      return (
        <Notice
          tone="bad"
          title={message}
          actions={
            editing.isUnsaved && <Button onClick={() => void editing.save()}>Save again</Button>
          }
        >
          {fix}
        </Notice>
      )
    }
    case 'changed':
      return (
        <Notice
          tone="warn"
          title="The draft was changed elsewhere"
          actions={
            <>
              <Button onClick={() => editing.loadTheirs(problem.theirs)}>Load that version</Button>
              <Button onClick={() => void editing.keepMine(problem.theirs)}>Keep mine</Button>
            </>
          }
        >
          An agent or another person saved it at {formatMoment(problem.theirs.updatedAt)}. Your
          later changes are not saved. “Keep mine” overwrites that version.
        </Notice>
      )
    case 'gone':
      return (
        <Notice tone="bad" title="The draft no longer exists">
          The draft was sent or deleted elsewhere. Copy any text that you still need.
        </Notice>
      )
  }
}
