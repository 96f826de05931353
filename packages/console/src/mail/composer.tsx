// The composer: replies and forwards in their thread, new messages in an overlay. What is written
// is a draft, which is stored as it is written.

import type { Inbox, InboxLimits, SentMessage } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { aboutOf, type Draft } from '#data/composed-message.ts'
import { formatMoment, formatNumber, plural, subjectOf } from '#data/format.ts'
import { readInboxChoices } from '#data/inbox-choices.ts'
import {
  closeCompose,
  discardCompose,
  endCompose,
  openWriting,
  shownThreadId,
  wishes,
} from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import type { Problem, Writing } from '#data/writing.ts'
import { HeldWords } from '#mail/message-status.tsx'
import { Button, ButtonLink } from '#parts/button.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { CheckField, SelectField } from '#parts/field.tsx'
import { FileArea } from '#parts/file-picker.tsx'
import { Notice } from '#parts/notice.tsx'
import { Forwarded, MessageFields, ScheduleField, tomorrowMorning } from './composer-fields.tsx'

/** The overlay composer, and the note about a reply that could not be stored. */
export function ComposeLayer() {
  const writing = openWriting.value
  if (writing === null) return null
  const about = aboutOf(writing.draft)
  if (about === null) return <ComposeDialog key={writing} writing={writing} />
  if (about.threadId === shownThreadId.value) return null
  return <OpenReply draft={writing.draft} href={paths.thread(about.inboxId, about.threadId)} />
}

function ComposeDialog({ writing }: { writing: Writing }) {
  const [held, setHeld] = useState<Held | null>(null)
  if (held !== null) return <HeldDialog held={held} onClose={() => endCompose(writing)} />
  return (
    <Dialog title={titleOf(writing)} onClose={closeCompose} size="wide">
      <ComposeForm writing={writing} onHeld={setHeld} />
    </Dialog>
  )
}

/** A reply or forward, below the message that it is about. */
export function InlineCompose({ writing }: { writing: Writing }) {
  const [held, setHeld] = useState<Held | null>(null)
  const element = useRef<HTMLElement>(null)
  const title = titleOf(writing)
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
        closeCompose()
      }}
    >
      <header class="inline-head">
        <h3>{title}</h3>
        <span class="muted inline-subject">{writing.draft.subject}</span>
        <Button kind="quiet" icon="close" label="Close and keep the draft" onClick={closeCompose} />
      </header>
      <ComposeForm writing={writing} onHeld={setHeld} />
      {held !== null && <HeldDialog held={held} onClose={() => endCompose(writing)} />}
    </section>
  )
}

/** A reply whose thread is not open. */
function OpenReply({ draft, href }: { draft: Draft; href: string }) {
  return (
    <aside class="unsent" aria-label="Open draft">
      <p class="bounded">
        Still open: <strong>{subjectOf(draft)}</strong>
      </p>
      <ButtonLink href={href}>Continue</ButtonLink>
      <Button kind="quiet" onClick={discardCompose}>
        Discard
      </Button>
    </aside>
  )
}

type Held = SentMessage & { hold: NonNullable<SentMessage['hold']> }

function HeldDialog({
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

function titleOf({ draft: { replied, forwarded, everybody }, isReopened }: Writing): string {
  if (forwarded !== null) return 'Forward'
  if (replied === null) return isReopened ? 'Draft' : 'New message'
  return everybody === null ? 'Reply' : 'Reply to all'
}

function ComposeForm({ writing, onHeld }: { writing: Writing; onHeld: (held: Held) => void }) {
  const { route } = useLocation()
  const { draft } = writing
  const { composed, inboxId, saved, problem, isSending, progress } = writing.state.value
  const inboxes = useResource(`compose ${draft.inboxId}`, (signal) => readInboxes(draft, signal))
  const first = inboxes.value?.[0]?.id
  useEffect(() => {
    if (inboxId === '' && first !== undefined) writing.setInbox(first)
  }, [first])
  const form = useRef<HTMLFormElement>(null)
  const hasAsked = useRef(false)
  const failure = problem?.kind === 'failed' ? problem.failure : null
  useEffect(() => {
    if (failure === null || !hasAsked.current) return
    hasAsked.current = false
    const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid]')
    if (wrong) wrong.focus()
    else form.current?.querySelector('.notice')?.scrollIntoView({ block: 'nearest' })
  }, [failure])
  const send = async () => {
    hasAsked.current = true
    const sent = await writing.send()
    if (sent === null) return
    const { hold, scheduledAt, threadId } = sent
    if (hold !== undefined) {
      onHeld({ ...sent, hold })
      return
    }
    toast(scheduledAt ? `Message scheduled for ${formatMoment(scheduledAt)}` : 'Message queued')
    const isShown = openWriting.value === writing
    endCompose(writing)
    if (isShown && threadId !== aboutOf(draft)?.threadId) {
      route(paths.thread(sent.inboxId, threadId))
    }
  }
  const errors = failure?.fields ?? {}
  const isStuck = problem?.kind === 'gone' || problem?.kind === 'changed'
  const attached = (saved?.attachments ?? []).map(({ id, filename: name, size }) => ({
    id,
    name,
    size,
  }))
  return (
    <form
      ref={form}
      class="form compose"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isSending && !isStuck) void send()
      }}
      onKeyDown={(event) => {
        const isWish = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
        if (isWish) event.currentTarget.requestSubmit()
      }}
    >
      {problem !== null && <ProblemNotice {...{ problem, writing }} />}
      <FileArea
        files={attached}
        error={errors.files}
        onAdd={(files) => void writing.addFiles(files)}
        onRemove={(id) => void writing.removeFile(id)}
        tools={(button) => (
          <ComposeTools
            writing={writing}
            isStuck={isStuck || inboxId === ''}
            attach={draft.forwarded === null ? button : null}
          />
        )}
      >
        {aboutOf(draft) === null ? (
          <FromField
            from={inboxId}
            inboxes={inboxes.value}
            // The files of a draft cannot be moved to another inbox.
            isFixed={attached.length > 0}
            onFrom={writing.setInbox}
            error={errors.from}
          />
        ) : (
          errors.from && <p class="field-error">{errors.from}</p>
        )}
        <MessageFields {...{ composed, draft, inboxId, errors, onComposed: writing.write }} />
        {saved?.bodyHtml != null && (
          <Notice
            tone="info"
            title="The draft has an HTML version, which is sent unchanged"
            actions={<Button onClick={() => void writing.removeHtml()}>Remove it</Button>}
          >
            Editing the text does not change the HTML version.
          </Notice>
        )}
        {draft.forwarded !== null && (
          <Forwarded
            message={draft.forwarded}
            isWithFiles={composed.isWithFiles}
            onWithFiles={(isWithFiles) => writing.write({ ...composed, isWithFiles })}
          />
        )}
        {composed.sendAt !== null && (
          <ScheduleField
            sendAt={composed.sendAt}
            error={errors.sendAt}
            onSendAt={(sendAt) => writing.write({ ...composed, sendAt })}
          />
        )}
        {progress !== null && <Progress part={progress} />}
      </FileArea>
    </form>
  )
}

/** One row below the text: send, options, the state of the draft, discard. */
function ComposeTools({
  writing: { draft, state, write },
  isStuck,
  attach,
}: {
  writing: Writing
  isStuck: boolean
  attach: ComponentChildren
}) {
  const { composed, saved, problem, isSending } = state.value
  const isAnother = problem?.kind === 'failed' && problem.isAnother
  return (
    <div class="compose-tools">
      <Button
        type="submit"
        kind="primary"
        icon="send"
        title="Ctrl Enter sends"
        isBusy={isSending}
        isDisabled={isStuck}
      >
        {isAnother ? 'Send as new message' : composed.sendAt === null ? 'Send' : 'Schedule'}
      </Button>
      {attach}
      {draft.forwarded === null && (
        <CheckField
          label="Send later"
          name="later"
          isChecked={composed.sendAt !== null}
          onChecked={(isLater) =>
            write({ ...composed, sendAt: isLater ? tomorrowMorning() : null })
          }
        />
      )}
      {saved?.bodyHtml == null && (
        <CheckField
          label="Markdown"
          name="markdown"
          isChecked={composed.format === 'markdown'}
          onChecked={(isMarkdown) =>
            write({ ...composed, format: isMarkdown ? 'markdown' : 'auto' })
          }
        />
      )}
      {draft.replied && (
        <CheckField
          label="Quote the original message"
          name="quote"
          isChecked={composed.isQuoting}
          onChecked={(isQuoting) => write({ ...composed, isQuoting })}
        />
      )}
      <span class="hint grow" role="status">
        {stateOf(state.value)}
      </span>
      <Button kind="quiet" icon="trash" label="Discard" onClick={discardCompose} />
    </div>
  )
}

function stateOf({ saved, isBusy, isUnsaved, problem }: Writing['state']['value']): string {
  if (isBusy) return 'Saving…'
  if (isUnsaved) return problem === null ? 'Saving soon' : 'Not saved'
  return saved === null ? '' : 'Saved'
}

function ProblemNotice({ problem, writing }: { problem: Problem; writing: Writing }) {
  switch (problem.kind) {
    case 'failed': {
      const { message, fix } = problem.failure
      return (
        <Notice tone="bad" title={message}>
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
              <Button onClick={() => writing.loadTheirs(problem.theirs)}>Load that version</Button>
              <Button onClick={() => void writing.keepMine(problem.theirs)}>Keep mine</Button>
            </>
          }
        >
          An agent or another person saved it at {formatMoment(problem.theirs.updatedAt)}. Your
          later changes are not saved. “Keep mine” overwrites that version.
        </Notice>
      )
    case 'gone':
      return (
        <Notice
          tone="bad"
          title="The draft no longer exists"
          actions={<Button onClick={() => void writing.saveAnew()}>Save as a new draft</Button>}
        >
          The draft was sent or deleted elsewhere.
        </Notice>
      )
  }
}

function FromField({
  from,
  inboxes,
  isFixed,
  error,
  onFrom,
}: {
  from: string
  inboxes: readonly Inbox[] | undefined
  isFixed: boolean
  error: string | undefined
  onFrom: (inboxId: string) => void
}) {
  const limits = useResource(from === '' ? null : `limits ${from}`, async (signal) =>
    describeLimits(await client.inboxes.limits(from, { signal })),
  )
  const offered = (inboxes ?? []).filter(({ id }) => !isFixed || id === from)
  return (
    <SelectField
      label="From"
      name="from"
      value={from}
      onValue={onFrom}
      options={offered.map(optionOf)}
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
  const strangers = Math.min(own.remaining ?? Number.POSITIVE_INFINITY, all.remaining ?? 0)
  const messages = plural(sendsPerDay.remaining ?? 0, 'message')
  return `${messages} left in the next 24 hours, ${formatNumber(strangers)} to new contacts today.`
}

/**
 * Offers the newest inboxes and the chosen one. Replies and forwards use the inbox of their
 * message.
 */
async function readInboxes(draft: Draft, signal: AbortSignal): Promise<Inbox[]> {
  const about = aboutOf(draft)
  if (about !== null) return []
  return readInboxChoices([draft.inboxId ?? ''], signal)
}
