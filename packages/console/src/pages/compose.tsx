// Writing a message or a reply.

import type { Inbox } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { closeCompose, type Draft } from '#data/compose.ts'
import { describeFailure, type Failure } from '#data/failure.ts'
import { readInboxChoices } from '#data/inbox-choices.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { SelectField } from '#parts/field.tsx'
import { FileArea } from '#parts/file-picker.tsx'
import { Notice } from '#parts/notice.tsx'
import { LetterFields } from './letter-fields.tsx'
import { isSentBefore, type Letter, useSending } from './use-sending.ts'

export function ComposeDialog({ draft }: { draft: Draft }) {
  const [isLeaving, setIsLeaving] = useState(false)
  const [isTouched, setIsTouched] = useState(false)
  const close = () => {
    // Whoever wants away twice in a row, such as by Escape, has not said yes by that.
    if (isTouched) setIsLeaving(!isLeaving)
    else closeCompose()
  }
  return (
    <Dialog title={draft.replied ? 'Reply' : 'New message'} onClose={close} size="wide">
      {isLeaving && (
        <Notice
          tone="warn"
          title="Discard this message?"
          actions={
            <>
              <Button onClick={() => setIsLeaving(false)}>Keep writing</Button>
              <Button kind="danger" onClick={closeCompose}>
                Discard
              </Button>
            </>
          }
        >
          It is not saved as a draft.
        </Notice>
      )}
      <ComposeForm draft={draft} onTouched={() => setIsTouched(true)} onCancel={close} />
    </Dialog>
  )
}

function ComposeForm({
  draft,
  onTouched,
  onCancel,
}: {
  draft: Draft
  onTouched: () => void
  onCancel: () => void
}) {
  const [letter, setLetter] = useState<Letter>(() => letterOf(draft))
  const [inboxId, setInboxId] = useState(draft.inboxId ?? '')
  const inboxes = useResource(`compose ${draft.inboxId}`, (signal) => readInboxes(draft, signal))
  const { isBusy, failure, progress, send } = useSending(draft)
  const from = inboxId === '' ? (inboxes.value?.[0]?.id ?? '') : inboxId
  const described =
    failure === null ? null : isSentBefore(failure) ? sentBefore : describeFailure(failure)
  return (
    <form
      class="form compose"
      onInput={onTouched}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) void send(from, letter)
      }}
      onKeyDown={(event) => {
        const isWish = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
        if (isWish) event.currentTarget.requestSubmit()
      }}
    >
      {described !== null && (
        <Notice tone="bad" title={described.message}>
          {described.fix}
        </Notice>
      )}
      <FileArea
        picked={letter.files}
        onPicked={(files) => {
          setLetter({ ...letter, files })
          onTouched()
        }}
      >
        <SelectField
          label="From"
          name="from"
          value={from}
          onValue={setInboxId}
          options={(inboxes.value ?? []).map(optionOf)}
          hint={inboxes.value?.length === 0 ? 'Create an inbox first.' : undefined}
        />
        <LetterFields
          letter={letter}
          draft={draft}
          errors={described?.fields ?? {}}
          onLetter={setLetter}
        />
      </FileArea>
      {progress !== null && <Progress part={progress} />}
      <div class="form-actions">
        <span class="hint grow">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> sends
        </span>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" icon="send" isBusy={isBusy} isDisabled={from === ''}>
          {failure === null ? 'Send' : isSentBefore(failure) ? 'Send as new message' : 'Try again'}
        </Button>
      </div>
    </form>
  )
}

const sentBefore: Failure = {
  message: 'Your earlier attempt was sent after all, as it was written then.',
  fix: 'Your later changes have not been sent. Check the thread before you send them as another message.',
  fields: {},
  isGone: false,
}

function Progress({ part }: { part: number }) {
  return (
    <label class="progress">
      <span>Uploading, {Math.round(part * 100)} %</span>
      <progress value={part} max={1} />
    </label>
  )
}

function letterOf({ to, cc, subject }: Draft): Letter {
  return { to, cc: cc.join(', '), subject, body: '', isQuoting: true, files: [] }
}

function optionOf({ id, address, displayName }: Inbox) {
  return { value: id, text: displayName ? `${displayName} <${address}>` : address }
}

/** The newest, and the one that was meant; a reply goes from the inbox of its thread alone. */
async function readInboxes(draft: Draft, signal: AbortSignal): Promise<Inbox[]> {
  const { inboxId, replied } = draft
  if (replied !== null) return [await client.inboxes.get(replied.inboxId, { signal })]
  return readInboxChoices([inboxId ?? ''], signal)
}
