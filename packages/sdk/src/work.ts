// Processes the threads of an inbox alongside other workers: claims them, renews their leases, and
// calls a handler.

import type { ClaimedThread } from '@mailroom/contract/claims.ts'
import type { BodyOf } from '@mailroom/contract/operations.ts'
import { MailroomConnectionError, MailroomError } from './error.ts'
import type { inboxes, threads } from './namespaces.ts'

/** The part of a client that a worker needs. */
type Worker<Client> = {
  readonly inboxes: Pick<ReturnType<typeof inboxes>, 'claimThreads'>
  readonly threads: Pick<ReturnType<typeof threads>, 'renewClaim' | 'releaseClaim'>
  withLease(leaseToken: string): Client
}

export type ContextOfWork<Client> = {
  /** A client that may change the thread and send in it, as long as the lease lasts. */
  readonly mail: Client
  /**
   * Aborted when the lease is lost: another worker may have the thread. Stop then; the service
   * refuses late requests.
   */
  readonly signal: AbortSignal
}

export type OptionsOfWork<Client> = Pick<BodyOf<'inboxes.claimThreads'>, 'category' | 'labels'> & {
  /** The worker's name, for people. */
  owner: string
  /** Default 60; the lease is renewed as long as `handle` runs. */
  leaseSeconds?: number
  /** Number of concurrent threads; default 1. */
  concurrency?: number
  /** Aborting it ends the loop after the current threads. */
  signal?: AbortSignal
  /**
   * When it resolves, the thread is released, and marked as read unless the result says otherwise.
   * If it rejects, the thread is left unchanged and can be claimed again once the lease expires.
   */
  handle(
    claim: ClaimedThread,
    context: ContextOfWork<Client>,
  ): Promise<{ isRead?: boolean } | undefined> | Promise<void>
  /** Called when `handle` rejects; the loop continues. */
  onError?(error: unknown, claim: ClaimedThread): void
}

const LEASE_SECONDS_DEFAULT = 60
const WAIT_SECONDS = 60
/** A failed renewal is retried before the lease expires. */
const RENEWALS_PER_LEASE = 3
const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 15_000

export async function work<Client extends Worker<Client>>(
  client: Client,
  inboxId: string,
  options: OptionsOfWork<Client>,
): Promise<void> {
  const { owner, concurrency = 1, signal, category, labels } = options
  const leaseSeconds = options.leaseSeconds ?? LEASE_SECONDS_DEFAULT
  const wanted = { owner, leaseSeconds, waitSeconds: WAIT_SECONDS, category, labels }
  const isStopped = () => signal?.aborted === true
  const running = new Set<Promise<void>>()
  let failures = 0
  try {
    while (!isStopped()) {
      if (running.size >= concurrency) {
        await Promise.race(running)
        continue
      }
      try {
        const max = Math.min(concurrency - running.size, 50)
        const { data } = await client.inboxes.claimThreads(inboxId, { ...wanted, max }, { signal })
        failures = 0
        for (const claim of data) {
          const one: Promise<void> = handle(client, claim, { ...options, leaseSeconds }).finally(
            () => running.delete(one),
          )
          running.add(one)
        }
      } catch (error) {
        if (isStopped()) break
        if (!isPassing(error)) throw error
        await pause(Math.min(RETRY_MS_MIN * 2 ** failures++, RETRY_MS_MAX), signal)
      }
    }
  } finally {
    await Promise.all(running)
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof MailroomConnectionError) return true
  return error instanceof MailroomError && (error.status >= 500 || error.status === 429)
}

/** Never rejects. */
async function handle<Client extends Worker<Client>>(
  client: Client,
  claim: ClaimedThread,
  options: OptionsOfWork<Client> & { leaseSeconds: number },
): Promise<void> {
  const mail = client.withLease(claim.leaseToken)
  const lost = new AbortController()
  const stop = keepLease(mail, claim, { ...options, onLost: (error) => lost.abort(error) })
  try {
    const result = await options.handle(claim, { mail, signal: lost.signal })
    stop()
    if (lost.signal.aborted) throw lost.signal.reason
    await mail.threads.releaseClaim(claim.threadId, { isRead: result?.isRead ?? true })
  } catch (error) {
    options.onError?.(error, claim)
  } finally {
    stop()
  }
}

/** Renews the lease until it is stopped or the lease is lost. */
function keepLease(
  mail: Pick<Worker<unknown>, 'threads'>,
  { threadId }: ClaimedThread,
  { leaseSeconds, onLost }: { leaseSeconds: number; onLost(error: unknown): void },
): () => void {
  const ended = new AbortController()
  const stepMs = Math.floor((leaseSeconds * 1000) / RENEWALS_PER_LEASE)
  const run = async () => {
    for (let renewedAtMs = performance.now(); ; ) {
      await pause(stepMs, ended.signal)
      if (ended.signal.aborted) return
      const askedAtMs = performance.now()
      try {
        const limits = { maxRetries: 0, timeoutMs: stepMs, signal: ended.signal }
        await mail.threads.renewClaim(threadId, { leaseSeconds }, limits)
        renewedAtMs = askedAtMs
      } catch (error) {
        if (ended.signal.aborted) return
        const isOver = performance.now() - renewedAtMs >= leaseSeconds * 1000
        if (isOver || !isPassing(error)) return onLost(error)
      }
    }
  }
  void run()
  return () => ended.abort()
}

/** Resolves early, without an error, once the signal is aborted. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
