// Sends what was written, and tells how far it has come and what went wrong. Under the draft's key it
// is sent once, however often it is tried: also where it was changed after a try of which nobody knows
// whether it arrived, for then the service refuses the key rather than sending both.

import { MailroomError } from '@mailroom/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { closeCompose, type Draft } from '#data/compose.ts'
import { announceMailChange } from '#data/mail-changes.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { uploadingClient } from '#data/upload.ts'
import type { Picked } from '#parts/file-picker.tsx'

export type Letter = {
  readonly to: string
  /** Addresses as they were typed. */
  readonly cc: string
  readonly subject: string
  readonly body: string
  readonly isQuoting: boolean
  readonly files: readonly Picked[]
}

const PROGRESS_FROM_BYTES = 200_000

export type Sending = {
  isBusy: boolean
  failure: unknown
  /** Of the upload, 0 to 1; null where it is short. */
  progress: number | null
  send: (inboxId: string, letter: Letter) => Promise<void>
}

export function useSending(draft: Draft): Sending {
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

/** Under its key another text was sent. */
export function isSentBefore(error: unknown): boolean {
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
