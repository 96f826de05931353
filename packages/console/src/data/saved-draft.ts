// Editing a saved draft: changes are saved after a moment, and only if no one else has changed the
// draft.

import { MailroomError, type Draft as SavedDraft, type SentMessage } from '@mailroom/sdk'
import { replyRecipient } from '@mailroom/sdk/sending.ts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { nameOwner } from './claims.ts'
import { type ComposedMessage, composedOf, readFile } from './composed-message.ts'
import type { Failure } from './failure.ts'
import { localMinute } from './format.ts'
import { announceMailChange } from './live.ts'
import type { Draft } from './open-draft.ts'
import { everybodyIn, keyOf, splitRecipients } from './recipients.ts'
import { describeSendFailure } from './send-failure.ts'
import { client } from './session.ts'

const SAVE_AFTER_MS = 1_000

export type OpenedDraft = { saved: SavedDraft; draft: Draft }

/** The draft, with the newest message of its thread. */
export async function openSavedDraft(id: string, signal: AbortSignal): Promise<OpenedDraft> {
  const saved = await client.drafts.get(id, { signal })
  const replied = saved.threadId === null ? null : await newestIn(saved.threadId, signal)
  const isToAll = saved.replyAll && saved.to.length === 0
  const everybody = isToAll && replied !== null ? everybodyIn(replied) : null
  const to = everybody?.to ?? saved.to
  const draft = {
    idempotencyKey: crypto.randomUUID(),
    isInThread: false,
    inboxId: saved.inboxId,
    replied,
    forwarded: null,
    everybody,
    to: to.join(', ') || (replied === null ? '' : replyRecipient(replied)),
    cc: [...(everybody?.cc ?? []), ...saved.cc],
    subject: saved.subject ?? replied?.subject ?? '',
  }
  return { saved, draft }
}

/** Null if the thread no longer exists. */
async function newestIn(threadId: string, signal: AbortSignal) {
  try {
    const { messageCount } = await client.threads.get(threadId, { signal })
    const newest = { limit: 1, offset: Math.max(0, messageCount - 1), signal }
    return (await client.threads.messages(threadId, newest)).data[0] ?? null
  } catch (error) {
    if (error instanceof MailroomError && error.status === 404) return null
    throw error
  }
}

/** Why the next change cannot be saved. */
export type Problem =
  | { kind: 'failed'; failure: Failure }
  | { kind: 'changed'; theirs: SavedDraft }
  | { kind: 'gone' }

export type Editing = {
  saved: SavedDraft
  composed: ComposedMessage
  isBusy: boolean
  /** Whether there are unsaved changes. */
  isUnsaved: boolean
  problem: Problem | null
  write(composed: ComposedMessage): void
  /** Resolves to false if the change was not saved. */
  save(): Promise<boolean>
  addFiles(files: readonly File[]): Promise<void>
  removeFile(id: string): Promise<void>
  removeHtml(): Promise<void>
  send(): Promise<SentMessage | null>
  loadTheirs(theirs: SavedDraft): void
  keepMine(theirs: SavedDraft): Promise<void>
}

/** The stored and the edited version of the draft. Changes are sent one after another. */
function useVersions({ saved: first, draft }: OpenedDraft) {
  const [saved, setSaved] = useState(first)
  const [composed, setComposed] = useState(() => composedOfSaved(first, draft))
  const [isBusy, setIsBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const now = useRef({ saved, composed })
  const queue = useRef(Promise.resolve(true))
  const keep = (next: SavedDraft) => {
    now.current.saved = next
    setSaved(next)
  }
  const write = (next: ComposedMessage) => {
    now.current.composed = next
    setComposed(next)
  }
  const explain = async (error: unknown, isSend: boolean): Promise<Problem | null> => {
    const { status, code } = error instanceof MailroomError ? error : { status: 0, code: '' }
    if (status === 404) return { kind: 'gone' }
    if (code === 'draft_changed') return findChange(now.current, draft, keep)
    const sending = {
      inboxId: first.inboxId,
      composed: now.current.composed,
      draft,
      isNewest: false,
    }
    const failure = describeSendFailure(error, sending)
    const isMarked = !isSend && Object.keys(failure.fields).length > 0
    const message = isMarked ? 'Not saved: correct the fields marked below.' : failure.message
    return { kind: 'failed', failure: { ...failure, message } }
  }
  /** Each change is based on the version that the previous one returned. */
  const run = (
    change: (saved: SavedDraft) => Promise<SavedDraft | null>,
    isSend = false,
  ): Promise<boolean> => {
    const done = queue.current.then(async () => {
      setIsBusy(true)
      try {
        const changed = await change(now.current.saved)
        if (changed !== null) keep(changed)
        setProblem(null)
        return true
      } catch (error) {
        const named = await nameOwner(error, first.threadId ?? '')
        const found = await explain(named, isSend).catch(() => null)
        setProblem(found)
        return false
      } finally {
        setIsBusy(false)
      }
    })
    queue.current = done
    return done
  }
  const save = (isExplicit = false) =>
    run(async (from) => {
      const changes = changesOf(now.current.composed, from, { draft, isExplicit })
      if (Object.keys(changes).length === 0) return null
      return client.drafts.update(from.id, changes, { ifMatch: from.etag })
    })
  return { saved, composed, isBusy, problem, keep, write, run, save, setProblem }
}

export function useSavedDraft(opened: OpenedDraft): Editing {
  const { draft } = opened
  const { saved, composed, isBusy, problem, keep, write, run, save, setProblem } =
    useVersions(opened)
  const isUnsaved = Object.keys(changesOf(composed, saved, { draft })).length > 0
  useEffect(() => {
    if (!isUnsaved || problem?.kind === 'changed' || problem?.kind === 'gone') return
    const timer = setTimeout(() => void save(), SAVE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [composed])
  return {
    saved,
    composed,
    isBusy,
    isUnsaved,
    problem,
    write,
    save: () => save(),
    async addFiles(files) {
      for (const file of files) {
        await run(async ({ id, etag }) =>
          client.drafts.addAttachment(id, await readFile({ file }), { ifMatch: etag }),
        )
      }
    },
    async removeFile(fileId) {
      await run(({ id, etag }) => client.drafts.removeAttachment(id, fileId, { ifMatch: etag }))
    },
    async removeHtml() {
      await run(({ id, etag }) => client.drafts.update(id, { bodyHtml: null }, { ifMatch: etag }))
    },
    async send() {
      // Sends the recipients that the form shows, even if new mail has arrived in the thread.
      if (!(await save(true))) return null
      let sent: SentMessage | null = null
      await run(async ({ id, etag }) => {
        const once = { idempotencyKey: draft.idempotencyKey, ifMatch: etag, maxRetries: 0 }
        sent = await client.drafts.send(id, once)
        announceMailChange(saved.inboxId)
        return null
      }, true)
      return sent
    },
    loadTheirs(theirs) {
      keep(theirs)
      write(composedOfSaved(theirs, draft))
      setProblem(null)
    },
    async keepMine(theirs) {
      keep(theirs)
      setProblem(null)
      await save()
    },
  }
}

/** Null if only the response to our own change was lost. */
async function findChange(
  { saved, composed }: { saved: SavedDraft; composed: ComposedMessage },
  draft: Draft,
  keep: (theirs: SavedDraft) => void,
): Promise<Problem | null> {
  const theirs = await client.drafts.get(saved.id).catch((error) => {
    if (error instanceof MailroomError && error.status === 404) return null
    throw error
  })
  if (theirs === null) return { kind: 'gone' }
  const isSame = Object.keys(changesOf(composed, theirs, { draft })).length === 0
  if (!isSame || theirs.attachments.length !== saved.attachments.length) {
    return { kind: 'changed', theirs }
  }
  keep(theirs)
  return null
}

function composedOfSaved(saved: SavedDraft, draft: Draft): ComposedMessage {
  const isToAll = draft.everybody !== null && saved.replyAll && saved.to.length === 0
  return {
    ...composedOf(draft),
    to: isToAll || saved.to.length === 0 ? draft.to : saved.to.join(', '),
    cc: isToAll ? draft.cc.join(', ') : saved.cc.join(', '),
    bcc: saved.bcc.join(', '),
    replyTo: saved.replyTo ?? '',
    subject: draft.replied === null ? (saved.subject ?? '') : draft.subject,
    body: saved.body ?? '',
    isQuoting: saved.includeQuote,
    sendAt: saved.sendAt === null ? null : localMinute(new Date(saved.sendAt)),
  }
}

const LISTS = ['to', 'cc', 'bcc'] as const

type Changes = Parameters<typeof client.drafts.update>[1]

/** `isExplicit`: sends the recipients of a reply to all as the form shows them. */
function changesOf(
  composed: ComposedMessage,
  saved: SavedDraft,
  { draft, isExplicit = false }: { draft: Draft; isExplicit?: boolean },
): Changes {
  const base = composedOfSaved(saved, draft)
  const keys = (text: string) => splitRecipients(text).map(keyOf).join()
  const moved = LISTS.filter((name) => keys(composed[name]) !== keys(base[name]))
  const isNamed = saved.replyAll && (isExplicit || moved.some((name) => name !== 'bcc'))
  const isTold = saved.to.length === 0 && isExplicit
  const lists = LISTS.filter(
    (name) => moved.includes(name) || (isNamed && name !== 'bcc') || (isTold && name === 'to'),
  ).map((name) => [name, splitRecipients(composed[name])] as const)
  const replyTo = composed.replyTo.trim()
  const subject = composed.subject.trim()
  return {
    ...Object.fromEntries(lists.map(([name, list]) => [name, list.length === 0 ? null : list])),
    ...(isNamed && { replyAll: false }),
    ...(replyTo !== base.replyTo && { replyTo: replyTo === '' ? null : replyTo }),
    ...(draft.replied === null &&
      subject !== base.subject && { subject: subject === '' ? null : subject }),
    ...(composed.body !== base.body && { body: composed.body === '' ? null : composed.body }),
    ...(composed.isQuoting !== base.isQuoting && { includeQuote: composed.isQuoting }),
    ...(composed.sendAt !== base.sendAt && { sendAt: timeOf(composed.sendAt) }),
  }
}

function timeOf(typed: string | null): string | null {
  const at = new Date(typed ?? '')
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}
