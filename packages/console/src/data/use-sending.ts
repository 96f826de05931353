// Sends a composed message once, however often it is tried, and reports the progress of a large upload.

import { MailroomError, type SentMessage } from '@mailroom/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { nameOwner } from './claims.ts'
import { type ComposedMessage, isNewest, sendComposed } from './composed-message.ts'
import type { Failure } from './failure.ts'
import { announceMailChange } from './live.ts'
import { aboutOf, composeDraft, type Draft } from './open-draft.ts'
import { describeSendFailure, isSentBefore } from './send-failure.ts'
import { client } from './session.ts'
import { toastFailure } from './toasts.ts'
import { uploadingClient } from './upload.ts'

const PROGRESS_FROM_BYTES = 200_000

/** `isAnother`: an earlier attempt was sent, so the next one is a new message. */
type Failed = Failure & { isAnother: boolean }

export type Attempt = {
  isBusy: boolean
  failure: Failed | null
  /** Progress of the upload, 0 to 1; null for a short one. */
  progress: number | null
  send: (inboxId: string, composed: ComposedMessage) => Promise<void>
}

/**
 * `onSent` is not called for a draft that was discarded in the meantime. A reply is still sent if
 * its thread is left.
 */
export function useSending(draft: Draft, onSent: (sent: SentMessage) => void): Attempt {
  const [failed, setFailed] = useState<Failed | null>(null)
  const [progress, setProgress] = useState<number | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const key = useRef(draft.idempotencyKey)
  /** Cached until the service refuses, so that a retry sends the same request. */
  const known = useRef<boolean | null>(null)
  const leaving = useRef(new AbortController())
  const isShown = useRef(true)
  useEffect(
    () => () => {
      isShown.current = false
      if (composeDraft.value !== draft) leaving.current.abort()
    },
    [],
  )
  const send = async (inboxId: string, composed: ComposedMessage) => {
    const { signal } = leaving.current
    const sending = { inboxId, composed, draft, isNewest: false }
    setIsBusy(true)
    setFailed(null)
    try {
      const isLarge =
        composed.files.reduce((sum, { file }) => sum + file.size, 0) > PROGRESS_FROM_BYTES
      const sender = isLarge ? uploadingClient(setProgress) : client
      if (draft.everybody !== null) known.current ??= await isNewest(draft, signal)
      sending.isNewest = known.current === true
      // Show a rate limit at once instead of waiting until it ends.
      const options = { idempotencyKey: key.current, signal, maxRetries: 0 }
      const sent = await sendComposed(sender, sending, options)
      announceMailChange(inboxId)
      // The draft was discarded just now, and another may be open.
      if (!signal.aborted && (isShown.current || composeDraft.value === draft)) onSent(sent)
    } catch (refusal) {
      const error = await nameOwner(refusal, aboutOf(draft)?.threadId ?? '')
      if (signal.aborted) return
      if (!isShown.current) toastFailure(error)
      if (isSentBefore(error)) key.current = crypto.randomUUID()
      if (error instanceof MailroomError && error.status < 500) known.current = null
      setFailed({ ...describeSendFailure(error, sending), isAnother: isSentBefore(error) })
    } finally {
      setIsBusy(false)
      setProgress(null)
    }
  }
  return { isBusy, failure: failed, progress, send }
}
