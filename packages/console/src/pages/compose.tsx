// Writing a message or a reply.

import type { Inbox, InboxLimits } from '@mailroom/sdk'
import { Mailroom, MailroomError } from '@mailroom/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { closeCompose, type Draft } from '#data/compose.ts'
import { describeFailure, type Failure } from '#data/failure.ts'
import { plural } from '#data/format.ts'
import { readInboxChoices } from '#data/inbox-choices.ts'
import { announceMailChange } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client, consoleFetch, noteAnswer, session } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { AreaField, CheckField, SelectField, TextField } from '#parts/field.tsx'
import type { Picked } from '#parts/file-picker.tsx'
import { FileArea } from '#parts/file-picker.tsx'
import { Notice } from '#parts/notice.tsx'

export function ComposeDialog({ draft }: { draft: Draft }) {
  const [isLeaving, setIsLeaving] = useState(false)
  const [isTouched, setIsTouched] = useState(false)
  const close = () => {
    // A second Escape in a row is not a confirmation.
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
  const limits = useResource(from === '' ? null : `limits ${from}`, async (signal) =>
    describeLimits(await client.inboxes.limits(from, { signal })),
  )
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
          hint={inboxes.value?.length === 0 ? 'Create an inbox first.' : limits.value}
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

/** The newest inboxes and the chosen one; a reply is sent only from the inbox of its thread. */
async function readInboxes(draft: Draft, signal: AbortSignal): Promise<Inbox[]> {
  const { inboxId, replied } = draft
  if (replied !== null) return [await client.inboxes.get(replied.inboxId, { signal })]
  return readInboxChoices([inboxId ?? ''], signal)
}

type Letter = {
  readonly to: string
  /** Addresses as typed. */
  readonly cc: string
  readonly subject: string
  readonly body: string
  readonly isQuoting: boolean
  readonly files: readonly Picked[]
}

const PROGRESS_FROM_BYTES = 200_000

type Sending = {
  isBusy: boolean
  failure: unknown
  /** Progress of the upload, 0 to 1; null for a short one. */
  progress: number | null
  send: (inboxId: string, letter: Letter) => Promise<void>
}

function useSending(draft: Draft): Sending {
  const { route } = useLocation()
  const [failure, setFailure] = useState<unknown>(null)
  const [progress, setProgress] = useState<number | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const key = useRef(draft.idempotencyKey)
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])
  const send = async (inboxId: string, letter: Letter) => {
    setIsBusy(true)
    setFailure(null)
    try {
      const isLarge =
        letter.files.reduce((sum, { file }) => sum + file.size, 0) > PROGRESS_FROM_BYTES
      const sender = isLarge ? uploadingClient(setProgress) : client
      const message = await messageOf(letter, draft)
      const { signal } = leaving.current
      const sent = await sender.inboxes.send(inboxId, message, {
        idempotencyKey: key.current,
        signal,
      })
      announceMailChange(inboxId)
      // Thrown away in the last moment: another one may be being written.
      if (signal.aborted) return
      toast('Message queued')
      closeCompose()
      route(paths.thread(inboxId, sent.threadId))
    } catch (error) {
      if (leaving.current.signal.aborted) return
      if (isSentBefore(error)) key.current = crypto.randomUUID()
      setFailure(error)
    } finally {
      setIsBusy(false)
      setProgress(null)
    }
  }
  return { isBusy, failure, progress, send }
}

/** Another text was sent under the draft's key. */
function isSentBefore(error: unknown): boolean {
  return error instanceof MailroomError && error.code === 'idempotency_key_reused'
}

async function messageOf({ to, cc, subject, body, isQuoting, files }: Letter, draft: Draft) {
  const attachments = await Promise.all(files.map(readFile))
  const copied = cc.split(/[,;\s]+/).filter((address) => address !== '')
  return {
    to: to.trim(),
    body,
    ...(subject.trim() !== '' && { subject: subject.trim() }),
    ...(copied.length > 0 && { cc: copied }),
    ...(attachments.length > 0 && { attachments }),
    ...(draft.replied && { threadId: draft.replied.threadId, includeQuote: isQuoting }),
  }
}

async function readFile({ file }: Picked) {
  return {
    filename: file.name,
    contentType: file.type === '' ? 'application/octet-stream' : file.type,
    data: new Uint8Array(await file.arrayBuffer()),
  }
}

/** A client that reports how much of a body has been uploaded, 0 to 1, which `fetch` cannot. */
function uploadingClient(onProgress: (part: number) => void): Mailroom {
  return new Mailroom({
    baseUrl: location.origin,
    apiKey: '',
    fetch: (input, init) =>
      typeof init?.body === 'string'
        ? upload(String(input), init, init.body, onProgress)
        : consoleFetch(input, init),
    maxRetries: 2,
  })
}

function upload(
  url: string,
  init: RequestInit,
  body: string,
  onProgress: (part: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(init.method ?? 'POST', url)
    const headers = new Headers(init.headers)
    headers.delete('authorization')
    const token = session.value?.csrfToken
    headers.set('x-csrf-token', token ?? '')
    for (const [name, value] of headers) request.setRequestHeader(name, value)
    request.responseType = 'text'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => {
      noteAnswer(request.status, token)
      resolve(
        new Response(request.status === 204 ? null : request.responseText, {
          status: request.status,
          headers: readHeaders(request.getAllResponseHeaders()),
        }),
      )
    }
    request.onerror = () => reject(new TypeError('The service could not be reached.'))
    request.onabort = () => reject(init.signal?.reason)
    init.signal?.throwIfAborted()
    init.signal?.addEventListener('abort', () => request.abort(), { once: true })
    request.send(body)
  })
}

function readHeaders(text: string): Headers {
  const headers = new Headers()
  for (const line of text.trim().split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return headers
}

const SUBJECT_LENGTH_MAX = 998

function LetterFields({
  letter,
  draft,
  errors,
  onLetter,
}: {
  letter: Letter
  draft: Draft
  errors: Readonly<Record<string, string>>
  onLetter: (letter: Letter) => void
}) {
  const [showsCc, setShowsCc] = useState(letter.cc !== '')
  return (
    <>
      <div class="compose-to">
        <TextField
          label="To"
          name="to"
          type="email"
          value={letter.to}
          onValue={(to) => onLetter({ ...letter, to })}
          error={errors.to}
          required
          autocomplete="off"
          spellcheck={false}
          autofocus={draft.to === ''}
        />
        {!showsCc && (
          <Button kind="quiet" onClick={() => setShowsCc(true)}>
            Cc
          </Button>
        )}
      </div>
      {showsCc && (
        <TextField
          label="Cc"
          name="cc"
          value={letter.cc}
          onValue={(cc) => onLetter({ ...letter, cc })}
          error={errors.cc}
          hint="Up to 50 addresses, separated by commas."
          autocomplete="off"
          spellcheck={false}
        />
      )}
      <TextField
        label="Subject"
        name="subject"
        value={letter.subject}
        onValue={(subject) => onLetter({ ...letter, subject })}
        error={errors.subject}
        required={draft.replied === null}
        maxLength={SUBJECT_LENGTH_MAX}
        autocomplete="off"
      />
      <AreaField
        label="Message"
        name="body"
        value={letter.body}
        onValue={(body) => onLetter({ ...letter, body })}
        error={errors.body}
        rows={10}
        required
        autofocus={draft.to !== ''}
      />
      {draft.replied && (
        <CheckField
          label="Quote the original message"
          name="quote"
          isChecked={letter.isQuoting}
          onChecked={(isQuoting) => onLetter({ ...letter, isQuoting })}
        />
      )}
    </>
  )
}
