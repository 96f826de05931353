// The number of pending reviews, and descriptions of decisions.

import { MailroomError, type Message, type Review } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { describeFailure } from './failure.ts'
import { useLive, useMailChanges } from './live.ts'
import { client } from './session.ts'
import { useResource } from './use-resource.ts'

/** Null until loaded. */
export const pendingReviews = signal<number | null>(null)

/** Sessions of approvers receive no events. */
const ASK_EVERY_MS = 15_000

export async function countPendingReviews(): Promise<void> {
  const page = await client.reviews.list({ status: 'pending', limit: 1 }).page()
  pendingReviews.value = page.total
}

/** Keeps the count current while the component is mounted. After an error, the last count is kept. */
export function usePendingReviews(): void {
  const count = () => void countPendingReviews().catch(() => {})
  useEffect(() => {
    count()
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') count()
    }, ASK_EVERY_MS)
    return () => {
      clearInterval(timer)
      pendingReviews.value = null
    }
  }, [])
  useLive(({ event }) => {
    if (event === 'message.held' || event === 'message.rejected') count()
  })
}

const OF_AN_INBOX_MAX = 300

/** Reviews of the given messages, by message id. */
export function useReviewsOf(
  inboxId: string,
  messages: readonly Message[],
): ReadonlyMap<string, Review> {
  const wanted = messages.filter(isPerhapsHeld).map(({ id, status }) => `${id} ${status}`)
  const reviews = useResource(wanted.length === 0 ? null : wanted.join(), async (signal) => {
    const found = new Map<string, Review>()
    const ids = new Set(wanted.map((words) => words.split(' ')[0]))
    let read = 0
    for await (const review of client.reviews.list({ inboxId, signal })) {
      read += 1
      for (const one of [review, ...review.equal]) {
        if (ids.delete(one.messageId)) found.set(one.messageId, { ...review, ...one })
      }
      if (ids.size === 0 || read === OF_AN_INBOX_MAX) break
    }
    return found
  })
  useMailChanges(inboxId, reviews.reload)
  return reviews.value ?? new Map()
}

function isPerhapsHeld({ status, failureReason }: Message): boolean {
  return status === 'pending' || failureReason === 'rejected' || failureReason === 'review_expired'
}

const NEIGHBOURS_MAX = 100

/** The pending review `by` positions further down the list, which is newest first. */
export async function neighbourOf(review: Review, by: 1 | -1): Promise<string | undefined> {
  const { data } = await client.reviews.list({ status: 'pending', limit: NEIGHBOURS_MAX }).page()
  const at = data.findIndex(({ id }) => id === review.id)
  if (at !== -1) return data[at + by]?.id
  const isBeyond = ({ createdAt }: Review) =>
    by === 1 ? createdAt <= review.createdAt : createdAt > review.createdAt
  return (by === 1 ? data.find(isBeyond) : data.findLast(isBeyond))?.id
}

export type Refusal = { title: string; text: string }

/** Returns null if it is unknown whether the review was decided; it is then loaded again. */
export function describeRefusal(error: unknown): Refusal | null {
  if (!(error instanceof MailroomError) || error.status >= 500) return null
  const { message, fix } = describeFailure(error)
  return refusalOf(error.code, message, fix)
}

export function refusalOf(code: string, message: string, fix: string | null): Refusal {
  if (code === 'review_changed') {
    return {
      title: 'The mail has changed since you read it',
      text: 'The page shows the current version. Read it again before you decide.',
    }
  }
  if (code === 'review_decided') {
    return {
      title: 'The review has already been decided',
      text: 'Another approver decided, the sender cancelled, or the review expired. The page shows the outcome.',
    }
  }
  return {
    title: `Nothing was decided: ${message}`,
    text: `${fix === null ? '' : `${fix} `}The review is unchanged.`,
  }
}
