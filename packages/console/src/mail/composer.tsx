// The composer: replies and forwards in their thread, new messages in an overlay.

import type { Inbox, InboxLimits, SentMessage } from '@mailroom/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatMoment, plural, quoteSubject, subjectOf } from '#data/format.ts'
import { readInboxChoices } from '#data/inbox-choices.ts'
import {
  aboutOf,
  beginDraft,
  closeCompose,
  composeDraft,
  type Draft,
  isDraftTouched,
  nextDraft,
  shownThreadId,
  wishes,
} from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { type Attempt, useSending } from '#data/use-sending.ts'
import { useWriting } from '#data/writing.ts'
import { HeldWords } from '#mail/message-status.tsx'
import { Button, ButtonLink } from '#parts/button.tsx'
import { ConfirmDialog, Dialog } from '#parts/dialog.tsx'
import { SelectField } from '#parts/field.tsx'
import { FileArea } from '#parts/file-picker.tsx'
import { Notice } from '#parts/notice.tsx'
import { Forwarded, MessageFields, ScheduleField } from './composer-fields.tsx'

/** The overlay composer, and the dialogs about unsent drafts. */
export function ComposeLayer() {
  const draft = composeDraft.value
  if (draft === null) return null
  const about = aboutOf(draft)
  return (
    <>
      {!draft.isInThread && <ComposeDialog key={draft.idempotencyKey} draft={draft} />}
      {draft.isInThread && about !== null && about.threadId !== shownThreadId.value && (
        <UnsentReply draft={draft} href={paths.thread(about.inboxId, about.threadId)} />
      )}
      {nextDraft.value !== null && <ReplaceDialog draft={draft} next={nextDraft.value} />}
    </>
  )
}

function ComposeDialog({ draft }: { draft: Draft }) {
  const { isLeaving, held, leave, stay, setHeld } = useLeaving()
  if (held !== null) return <HeldDialog key="held" held={held} onClose={closeCompose} />
  return (
    <Dialog title={titleOf(draft)} onClose={leave} size="wide">
      {isLeaving && <LeavingNotice onStay={stay} />}
      <ComposeForm draft={draft} onCancel={leave} onHeld={setHeld} />
    </Dialog>
  )
}

/** A reply or forward, below the message that it is about. */
export function InlineCompose({ draft }: { draft: Draft }) {
  const { isLeaving, held, leave, stay, setHeld } = useLeaving()
  const element = useRef<HTMLElement>(null)
  const title = titleOf(draft)
  useEffect(() => {
    const before = document.activeElement
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  useEffect(() => {
    element.current?.scrollIntoView({ block: 'nearest' })
    element.current?.querySelector<HTMLElement>('[autofocus]')?.focus({ preventScroll: true })
  }, [wishes.value])
  return (
    <section
      ref={element}
      class="inline-compose"
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return
        event.preventDefault()
        leave()
      }}
    >
      <header class="inline-head">
        <h3>{title}</h3>
        <Button kind="quiet" icon="close" label="Close" onClick={leave} />
      </header>
      {isLeaving && <LeavingNotice onStay={stay} />}
      <ComposeForm draft={draft} onCancel={leave} onHeld={setHeld} isInline />
      {held !== null && <HeldDialog held={held} onClose={closeCompose} />}
    </section>
  )
}

function useLeaving() {
  const [isLeaving, setIsLeaving] = useState(false)
  const [held, setHeld] = useState<Held | null>(null)
  return {
    isLeaving,
    held,
    setHeld,
    stay: () => setIsLeaving(false),
    leave() {
      // A second Escape does not confirm.
      if (isDraftTouched.value) setIsLeaving(!isLeaving)
      else closeCompose()
    },
  }
}

function LeavingNotice({ onStay }: { onStay: () => void }) {
  return (
    <Notice
      tone="warn"
      title="Discard this message?"
      actions={
        <>
          <Button onClick={onStay}>Keep writing</Button>
          <Button kind="danger" onClick={closeCompose}>
            Discard
          </Button>
        </>
      }
    >
      The message is not saved as a draft.
    </Notice>
  )
}

/** A reply whose thread is no longer open. */
function UnsentReply({ draft, href }: { draft: Draft; href: string }) {
  return (
    <aside class="unsent" aria-label="Unsent message">
      <p class="bounded">
        {titleOf(draft)} not sent: <strong>{subjectOf(draft)}</strong>
      </p>
      <ButtonLink href={href}>Continue</ButtonLink>
      <Button kind="quiet" onClick={closeCompose}>
        Discard
      </Button>
    </aside>
  )
}

function ReplaceDialog({ draft, next }: { draft: Draft; next: Draft }) {
  return (
    <ConfirmDialog
      title="Discard the message that you are writing?"
      action="Discard"
      dismiss="Keep writing"
      onClose={() => {
        nextDraft.value = null
      }}
      submit={async () => beginDraft(next)}
    >
      <p>
        {titleOf(draft)} {quoteSubject(draft)} is neither sent nor saved as a draft.
      </p>
    </ConfirmDialog>
  )
}

export type Held = SentMessage & { hold: NonNullable<SentMessage['hold']> }

export function HeldDialog({
  held: { hold, inboxId, threadId },
  onClose,
}: {
  held: Held
  onClose: () => void
}) {
  const { route } = useLocation()
  const goTo = (path: string) => {
    onClose()
    route(path)
  }
  return (
    <Dialog title="Waiting for approval" onClose={onClose} size="wide">
      <div class="form">
        <Notice tone="warn" title="The message awaits approval by a person">
          <HeldWords {...hold} />
        </Notice>
        <div class="form-actions">
          <Button onClick={() => goTo(paths.review(hold.id))}>Show review</Button>
          <Button kind="primary" isFocused onClick={() => goTo(paths.thread(inboxId, threadId))}>
            Show thread
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function titleOf({ replied, forwarded, everybody }: Draft): string {
  if (forwarded !== null) return 'Forward'
  if (replied === null) return 'New message'
  return everybody === null ? 'Reply' : 'Reply to all'
}

function ComposeForm({
  draft,
  onCancel,
  onHeld,
  isInline = false,
}: {
  draft: Draft
  onCancel: () => void
  onHeld: (held: Held) => void
  /** Sends in the thread, which then shows the sent message. */
  isInline?: boolean
}) {
  const { route } = useLocation()
  const { composed, inboxId, setComposed, setInboxId, noteTouched } = useWriting(draft)
  const inboxes = useResource(`compose ${draft.inboxId}`, (signal) => readInboxes(draft, signal))
  const from = inboxId === '' ? (inboxes.value?.[0]?.id ?? '') : inboxId
  const attempt = useSending(draft, (sent) => {
    const { hold, scheduledAt, inboxId, threadId } = sent
    if (hold !== undefined) {
      onHeld({ ...sent, hold })
      return
    }
    toast(scheduledAt ? `Message scheduled for ${formatMoment(scheduledAt)}` : 'Message queued')
    closeCompose()
    if (!isInline || threadId !== aboutOf(draft)?.threadId) route(paths.thread(inboxId, threadId))
  })
  const { isBusy, failure, progress, send } = attempt
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (failure === null) return
    const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid]')
    if (wrong) wrong.focus()
    else form.current?.querySelector('.notice')?.scrollIntoView({ block: 'nearest' })
  }, [failure])
  const errors = failure?.fields ?? {}
  const fields = (
    <>
      {isInline ? (
        <p class={errors.from ? 'field-error' : 'hint'}>
          From {inboxes.value?.[0]?.address} {errors.from}
        </p>
      ) : (
        <FromField {...{ from, inboxes: inboxes.value, onFrom: setInboxId, error: errors.from }} />
      )}
      <MessageFields {...{ composed, draft, errors, onComposed: setComposed }} />
    </>
  )
  const { sendAt } = composed
  return (
    <form
      ref={form}
      class="form compose"
      onInput={noteTouched}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) void send(from, composed)
      }}
      onKeyDown={(event) => {
        const isWish = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
        if (isWish) event.currentTarget.requestSubmit()
      }}
    >
      {failure !== null && (
        <Notice tone="bad" title={failure.message}>
          {failure.fix}
        </Notice>
      )}
      {draft.forwarded === null ? (
        <FileArea
          picked={composed.files}
          error={errors.files}
          onPicked={(files) => {
            setComposed({ ...composed, files })
            noteTouched()
          }}
        >
          {fields}
          <ScheduleField
            sendAt={sendAt}
            error={errors.sendAt}
            onSendAt={(next) => setComposed({ ...composed, sendAt: next })}
          />
        </FileArea>
      ) : (
        <>
          {fields}
          <Forwarded
            message={draft.forwarded}
            isWithFiles={composed.isWithFiles}
            error={errors.files}
            onWithFiles={(isWithFiles) => setComposed({ ...composed, isWithFiles })}
          />
        </>
      )}
      {progress !== null && <Progress part={progress} />}
      <ComposeActions
        attempt={attempt}
        isDisabled={from === ''}
        isLater={sendAt !== null}
        onCancel={onCancel}
      />
    </form>
  )
}

function ComposeActions({
  attempt: { isBusy, failure },
  isDisabled,
  isLater,
  onCancel,
}: {
  attempt: Attempt
  isDisabled: boolean
  isLater: boolean
  onCancel: () => void
}) {
  const first = isLater ? 'Schedule' : 'Send'
  return (
    <div class="form-actions">
      <span class="hint grow">
        <kbd>Ctrl</kbd> <kbd>Enter</kbd> sends
      </span>
      <Button onClick={onCancel}>Cancel</Button>
      <Button type="submit" kind="primary" icon="send" {...{ isBusy, isDisabled }}>
        {failure === null ? first : failure.isAnother ? 'Send as new message' : 'Try again'}
      </Button>
    </div>
  )
}

function FromField({
  from,
  inboxes,
  error,
  onFrom,
}: {
  from: string
  inboxes: readonly Inbox[] | undefined
  error: string | undefined
  onFrom: (inboxId: string) => void
}) {
  const limits = useResource(from === '' ? null : `limits ${from}`, async (signal) =>
    describeLimits(await client.inboxes.limits(from, { signal })),
  )
  return (
    <SelectField
      label="From"
      name="from"
      value={from}
      onValue={onFrom}
      options={(inboxes ?? []).map(optionOf)}
      hint={inboxes?.length === 0 ? 'Create an inbox first.' : limits.value}
      error={error}
    />
  )
}

function Progress({ part }: { part: number }) {
  return (
    <label class="progress">
      <span>Uploading, {Math.round(part * 100)} %</span>
      <progress value={part} max={1} />
    </label>
  )
}

function optionOf({ id, address, displayName }: Inbox) {
  return { value: id, text: displayName ? `${displayName} <${address}>` : address }
}

function describeLimits({
  sendsPerDay,
  coldRecipientsPerDay: own,
  accountColdRecipientsPerDay: all,
}: InboxLimits): string {
  const left = sendsPerDay.remaining ?? 0
  const strangers = Math.min(own.remaining ?? Number.POSITIVE_INFINITY, all.remaining ?? 0)
  const messages = plural(left, 'more message', 'more messages')
  return `May send ${messages} within 24 hours, and write to ${plural(strangers, 'new person', 'new people')} today.`
}

/**
 * Offers the newest inboxes and the chosen one. Replies and forwards use the inbox of their
 * message.
 */
async function readInboxes(draft: Draft, signal: AbortSignal): Promise<Inbox[]> {
  const about = aboutOf(draft)
  if (about !== null) return [await client.inboxes.get(about.inboxId, { signal })]
  return readInboxChoices([draft.inboxId ?? ''], signal)
}
