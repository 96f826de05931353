// A message being written: a draft that is stored soon after its first keystroke and after each
// pause, and only if no one else has changed it. It lives on while its form is closed.

import { MailroomError, type Draft as SavedDraft, type SentMessage } from '@mailroom/sdk'
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { nameOwner } from './claims.ts'
import {
  aboutOf,
  type ComposedMessage,
  changesOf,
  composedOf,
  composedOfSaved,
  type Draft,
  type Fields,
  fieldsOf,
  forwardMark,
  isNewest,
  readFile,
} from './composed-message.ts'
import type { Failure } from './failure.ts'
import { announceMailChange } from './live.ts'
import { describeSendFailure, isSentBefore, sentBefore } from './send-failure.ts'
import { client, consoleFetch } from './session.ts'
import { uploadingClient } from './upload.ts'

const FIRST_SAVE_AFTER_MS = 400
const SAVE_AFTER_MS = 1_000
const PROGRESS_FROM_BYTES = 200_000
const DISCARD_AFTER_MS = 20_000

/** Why the next change cannot be saved, or the message not be sent. */
export type Problem =
  | { kind: 'failed'; failure: Failure; isAnother: boolean }
  | { kind: 'changed'; theirs: SavedDraft }
  | { kind: 'gone' }

type State = {
  composed: ComposedMessage
  /** The inbox that sends; empty until one is chosen. */
  inboxId: string
  /** The draft in the service; null before it is first saved. */
  saved: SavedDraft | null
  isBusy: boolean
  isSending: boolean
  isUnsaved: boolean
  /** Progress of an upload, 0 to 1; null for a short one. */
  progress: number | null
  problem: Problem | null
}

/** Counts changes of stored drafts, for lists that show them. */
export const draftChanges = signal(0)
/** Drafts that are about to be deleted. */
export const discarded = signal<ReadonlySet<string>>(new Set())

/** Messages with changes that are not stored yet. */
const unstored = new Set<Writing>()
const discarding = new Set<string>()

addEventListener('pagehide', () => {
  for (const writing of unstored) writing.storeNow()
  for (const id of discarding) {
    void consoleFetch(draftPath(id), { method: 'DELETE', keepalive: true })
  }
})

/** Only a draft that the service refuses to store makes the browser ask. */
addEventListener('beforeunload', (event) => {
  if ([...unstored].some((writing) => writing.isLost)) event.preventDefault()
})

const draftPath = (id: string) => `/v1/drafts/${encodeURIComponent(id)}`

export class Writing {
  readonly draft: Draft
  /** Whether it was stored before this form was opened. */
  readonly isReopened: boolean
  readonly #state: Signal<State>
  /** The fields as they were stored last. */
  #stored: Fields
  /** Identifies the draft and its send, so that both happen once. */
  #key: string
  /** Whether a send may have been accepted, whose response was lost. */
  #mayBeSent = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Changes run one after another, each based on the version that the previous one returned. */
  #queue = Promise.resolve(true)

  /** `saved` is the stored draft to continue; null for a new one. */
  constructor(draft: Draft, saved: SavedDraft | null) {
    const composed = saved === null ? composedOf(draft) : composedOfSaved(saved, draft)
    this.draft = draft
    this.isReopened = saved !== null
    this.#stored = fieldsOf(composed, draft)
    this.#key = saved?.clientId?.startsWith(forwardMark) ? saved.clientId : newKey(draft)
    this.#state = signal<State>({
      composed,
      inboxId: saved?.inboxId ?? aboutOf(draft)?.inboxId ?? draft.inboxId ?? '',
      saved,
      isBusy: false,
      isSending: false,
      isUnsaved: false,
      progress: null,
      problem: null,
    })
  }

  get state(): ReadonlySignal<State> {
    return this.#state
  }

  write = (composed: ComposedMessage): void => {
    this.#set({ composed })
    this.#noteUnsaved()
    this.#schedule()
  }

  /** A stored draft cannot change its inbox, so another one takes its place. */
  setInbox = (inboxId: string): void => {
    const { saved } = this.state.value
    this.#set({ inboxId })
    if (saved === null) {
      this.#schedule()
      return
    }
    this.#startAnew()
    void this.#save().then((isDone) => (isDone ? client.drafts.delete(saved.id) : undefined))
  }

  async addFiles(files: readonly File[]): Promise<void> {
    await this.#run(async () => {
      await this.#store(this.#fields(), false)
      for (const file of files) {
        const sender =
          file.size > PROGRESS_FROM_BYTES
            ? uploadingClient((progress) => this.#set({ progress }))
            : client
        await this.#change(async ({ id, etag }) =>
          sender.drafts.addAttachment(id, await readFile(file), { ifMatch: etag }),
        )
      }
    })
  }

  async removeFile(fileId: string): Promise<void> {
    await this.#run(() =>
      this.#change(({ id, etag }) => client.drafts.removeAttachment(id, fileId, { ifMatch: etag })),
    )
  }

  async removeHtml(): Promise<void> {
    await this.#run(() =>
      this.#change(({ id, etag }) =>
        client.drafts.update(id, { bodyHtml: null }, { ifMatch: etag }),
      ),
    )
  }

  /** Sends what the form shows, once, however often it is tried. */
  async send(): Promise<SentMessage | null> {
    if (this.state.value.isSending) return null
    this.#set({ isSending: true })
    const sent: SentMessage[] = []
    await this.#run(async () => {
      const fields = fieldsOf(this.state.value.composed, this.draft, {
        isWhole: true,
        isNewest: await isNewest(this.draft),
      })
      await this.#store(fields, true)
      const { saved } = this.state.value
      if (saved === null) return
      this.#mayBeSent = true
      sent.push(await this.#sendStored(saved, fields))
      unstored.delete(this)
      draftChanges.value += 1
      announceMailChange(saved.inboxId)
    }, true)
    this.#set({ isSending: false })
    return sent[0] ?? null
  }

  loadTheirs(theirs: SavedDraft): void {
    const composed = composedOfSaved(theirs, this.draft)
    this.#stored = fieldsOf(composed, this.draft)
    this.#set({ composed, problem: null })
    this.#keep(theirs)
    this.#noteUnsaved()
  }

  async keepMine(theirs: SavedDraft): Promise<void> {
    this.#stored = fieldsOf(composedOfSaved(theirs, this.draft), this.draft)
    this.#set({ problem: null })
    this.#keep(theirs)
    await this.#save()
  }

  async saveAnew(): Promise<void> {
    this.#startAnew()
    this.#set({ problem: null })
    await this.#save()
  }

  /**
   * Stores the last changes. Resolves to whether there is a draft now: one without content is
   * deleted. Rejects if it cannot be stored.
   */
  async leave(): Promise<boolean> {
    clearTimeout(this.#timer)
    await this.#queue
    const { saved, composed, inboxId, problem } = this.state.value
    const typed = changesOf(
      fieldsOf(composed, this.draft),
      fieldsOf(composedOf(this.draft), this.draft),
    )
    const hasContent = Object.keys(typed).length > 0 || (saved?.attachments.length ?? 0) > 0
    if (!hasContent && !this.isReopened) {
      unstored.delete(this)
      if (saved !== null) await client.drafts.delete(saved.id)
      draftChanges.value += 1
      return false
    }
    if (problem?.kind === 'gone' || inboxId === '') {
      unstored.delete(this)
      return false
    }
    if (!(await this.#save())) throw new Error('The draft is not saved.')
    return hasContent
  }

  /** Stops saving, and returns the id of the stored draft. */
  async stop(): Promise<string | null> {
    clearTimeout(this.#timer)
    unstored.delete(this)
    await this.#queue
    return this.state.value.saved?.id ?? null
  }

  /** Stores the changes in a request that outlives the page. */
  storeNow(): void {
    const { saved, isBusy, inboxId } = this.state.value
    const changes = this.#pending()
    if (Object.keys(changes).length === 0 || inboxId === '') return
    const clientId = isBusy ? {} : { clientId: this.#key }
    const made = { ...firstFields(this.draft, changes), ...clientId }
    // A save under way may have changed the version, or be the first one.
    const ifMatch: Record<string, string> =
      saved === null || isBusy ? {} : { 'if-match': saved.etag }
    const path =
      saved === null ? `/v1/inboxes/${encodeURIComponent(inboxId)}/drafts` : draftPath(saved.id)
    void consoleFetch(path, {
      method: saved === null ? 'POST' : 'PATCH',
      keepalive: true,
      headers: { 'content-type': 'application/json', ...ifMatch },
      body: JSON.stringify(saved === null ? made : changes),
    })
  }

  /** Whether the service refuses to store what was written. */
  get isLost(): boolean {
    return this.state.value.problem !== null && this.state.value.isUnsaved
  }

  #set(change: Partial<State>): void {
    this.#state.value = { ...this.state.value, ...change }
  }

  #fields(): Fields {
    return fieldsOf(this.state.value.composed, this.draft)
  }

  #pending(): Fields {
    return changesOf(this.#fields(), this.#stored)
  }

  #noteUnsaved(): void {
    const isUnsaved = Object.keys(this.#pending()).length > 0
    if (isUnsaved) unstored.add(this)
    else unstored.delete(this)
    if (isUnsaved !== this.state.value.isUnsaved) this.#set({ isUnsaved })
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const { isUnsaved, inboxId, problem, saved } = this.state.value
    const isStuck = problem?.kind === 'changed' || problem?.kind === 'gone'
    if (!isUnsaved || inboxId === '' || isStuck) return
    const afterMs = saved === null ? FIRST_SAVE_AFTER_MS : SAVE_AFTER_MS
    this.#timer = setTimeout(() => void this.#save(), afterMs)
  }

  #save(): Promise<boolean> {
    return this.#run(async () => {
      if (Object.keys(this.#pending()).length > 0) await this.#store(this.#fields(), false)
    })
  }

  #run(change: () => Promise<void>, isSend = false): Promise<boolean> {
    clearTimeout(this.#timer)
    this.#queue = this.#queue.then(async () => {
      this.#set({ isBusy: true })
      try {
        await change()
        this.#set({ problem: null })
        return true
      } catch (error) {
        const problem = await this.#explain(error, isSend).catch(() => this.state.value.problem)
        this.#set({ problem })
        return false
      } finally {
        this.#set({ isBusy: false, progress: null })
        this.#noteUnsaved()
      }
    })
    return this.#queue
  }

  #keep(saved: SavedDraft): void {
    this.#set({ saved })
    draftChanges.value += 1
  }

  async #change(make: (saved: SavedDraft) => Promise<SavedDraft>): Promise<void> {
    const { saved } = this.state.value
    if (saved !== null) this.#keep(await make(saved))
  }

  /** `isWhole` also stores what the form derived, such as the recipients of a reply. */
  async #store(wanted: Fields, isWhole: boolean): Promise<void> {
    const { saved } = this.state.value
    if (saved === null) this.#keep(await this.#create(wanted))
    else {
      const changes = changesOf(wanted, isWhole ? storedIn(saved, wanted) : this.#stored)
      if (Object.keys(changes).length > 0) {
        this.#keep(await client.drafts.update(saved.id, changes, { ifMatch: saved.etag }))
      }
    }
    this.#stored = wanted
  }

  async #create(fields: Fields): Promise<SavedDraft> {
    try {
      const body = { ...firstFields(this.draft, fields), clientId: this.#key }
      return await client.drafts.create(this.state.value.inboxId, body)
    } catch (error) {
      // Only the response to an earlier attempt was lost.
      const isKnown = error instanceof MailroomError && error.code === 'client_id_taken'
      if (!isKnown) throw error
      return client.drafts.update(String(error.body.draftId), fields)
    }
  }

  async #sendStored(
    saved: SavedDraft,
    { to, cc, bcc, body, format }: Fields,
  ): Promise<SentMessage> {
    const once = { idempotencyKey: this.#key, maxRetries: 0 }
    const { forwarded } = this.draft
    if (forwarded === null) {
      return client.drafts.send(saved.id, { ...once, ifMatch: saved.etag })
    }
    const forward = {
      to: to ?? [],
      ...(cc && { cc }),
      ...(bcc && { bcc }),
      body: body ?? '',
      ...(format && { format }),
      includeAttachments: this.state.value.composed.isWithFiles,
    }
    const sent = await client.messages.forward(forwarded.id, forward, once)
    await client.drafts.delete(saved.id).catch(() => {})
    return sent
  }

  async #explain(error: unknown, isSend: boolean): Promise<Problem | null> {
    const { saved, composed } = this.state.value
    const { status, code } = error instanceof MailroomError ? error : { status: 0, code: '' }
    if (isSentBefore(error) || (this.#mayBeSent && status === 404)) {
      this.#startAnew()
      return { kind: 'failed', failure: sentBefore, isAnother: true }
    }
    // A refusal proves that nothing was sent; without an answer, it may have been.
    if (status > 0 && status < 500) this.#mayBeSent = false
    if (status === 404 && saved !== null) return { kind: 'gone' }
    if (code === 'draft_changed' && saved !== null) return this.#findChange(saved.id)
    const hasFiles = (saved?.attachments.length ?? 0) > 0 || this.draft.forwarded !== null
    const named = await nameOwner(error, aboutOf(this.draft)?.threadId ?? '')
    const failure = describeSendFailure(named, { composed, hasFiles })
    const isMarked = !isSend && Object.keys(failure.fields).length > 0
    const message = isMarked ? 'Not saved: correct the fields marked below.' : failure.message
    return { kind: 'failed', failure: { ...failure, message }, isAnother: false }
  }

  /** Null if only the response to our own change was lost. */
  async #findChange(id: string): Promise<Problem | null> {
    const theirs = await client.drafts.get(id).catch((error) => {
      if (error instanceof MailroomError && error.status === 404) return null
      throw error
    })
    if (theirs === null) return { kind: 'gone' }
    const ours = this.#fields()
    if (Object.keys(changesOf(ours, storedIn(theirs, ours))).length > 0) {
      return { kind: 'changed', theirs }
    }
    this.#stored = ours
    this.#keep(theirs)
    return null
  }

  /** The next save makes another draft. */
  #startAnew(): void {
    this.#set({ saved: null })
    this.#stored = {}
    this.#key = newKey(this.draft)
    this.#mayBeSent = false
    this.#noteUnsaved()
  }
}

/** Deletes the draft after some seconds. The returned function prevents it. */
export async function discardLater(writing: Writing): Promise<() => void> {
  const id = await writing.stop()
  if (id === null) return () => {}
  discarding.add(id)
  discarded.value = new Set([...discarded.value, id])
  const timer = setTimeout(() => {
    discarding.delete(id)
    void client.drafts.delete(id)
  }, DISCARD_AFTER_MS)
  return () => {
    clearTimeout(timer)
    discarding.delete(id)
    discarded.value = new Set([...discarded.value].filter((one) => one !== id))
  }
}

function newKey(draft: Draft): string {
  const key = crypto.randomUUID()
  return draft.forwarded === null ? key : `${forwardMark}${draft.forwarded.id} ${key}`
}

/** A new draft has no fields to clear. */
function firstFields(draft: Draft, fields: Fields) {
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)),
    ...(draft.replied !== null && { threadId: draft.replied.threadId }),
  }
}

/** The stored values of the fields, in the same form. */
function storedIn(saved: SavedDraft, fields: Fields): Fields {
  const shownOf = (name: keyof Fields) => {
    const value = saved[name as keyof SavedDraft]
    return Array.isArray(value) && value.length === 0 ? null : value
  }
  const names = Object.keys(fields) as (keyof Fields)[]
  return Object.fromEntries(names.map((name) => [name, shownOf(name)]))
}
