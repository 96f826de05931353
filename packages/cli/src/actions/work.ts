// Runs a command for each claimed thread until interrupted.

import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import type { ClaimedThread } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { readDurationMs } from '#base/read-input.ts'
import { findInbox, openSession, type Session } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

type WorkingOptions = CommonOptions & {
  readonly inbox?: string
  readonly exec: string
  readonly owner?: string
  readonly lease: string
  readonly concurrency: string
  readonly category?: MessageCategory
  readonly label?: string[]
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

export async function workOnThreads(options: WorkingOptions): Promise<void> {
  const { exec, category, label: labels } = options
  const { owner = `${hostname()} ${process.pid}` } = options
  const leaseSeconds = Math.round(readDurationMs(options.lease) / 1000)
  const concurrency = Number(options.concurrency)
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new Failure('usage', '--concurrency must be a positive integer.')
  }
  const output = openOutput({ isColored: options.color })
  // With the token of another claim, the service would refuse the requests.
  const session = await openSession({ ...options, leaseToken: '' })
  const inboxId = await findInbox(session, options.inbox)
  const stop = new AbortController()
  const end = () => stop.abort()
  for (const signal of STOP_SIGNALS) process.once(signal, end)
  output.progress('Waiting for threads …')
  try {
    await session.client.work(inboxId, {
      owner,
      leaseSeconds,
      concurrency,
      category,
      labels,
      signal: stop.signal,
      async handle(claim, { signal }) {
        await run(session, exec, { claim, signal })
        output.note(`${claim.threadId} is done.`)
        return undefined
      },
      onError(error, { threadId }) {
        const reason = error instanceof Error ? error.message : String(error)
        output.note(plainLine(`${threadId} failed: ${reason}`))
      },
    })
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, end)
  }
}

/** Rejects unless the command exits with 0. The command is ended when the lease is lost. */
function run(
  { baseUrl, apiKey }: Session,
  command: string,
  { claim, signal }: { claim: ClaimedThread; signal: AbortSignal },
): Promise<void> {
  const child = spawn(command, {
    shell: true,
    // In its own process group, so that an interrupt at the terminal does not end it.
    detached: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: {
      ...process.env,
      MAILROOM_BASE_URL: baseUrl,
      MAILROOM_API_KEY: apiKey,
      MAILROOM_THREAD_ID: claim.threadId,
      MAILROOM_INBOX_ID: claim.inboxId,
      MAILROOM_FENCE: String(claim.fence),
      MAILROOM_LEASE_TOKEN: claim.leaseToken,
    },
  })
  // A command may exit without reading its input.
  child.stdin.on('error', () => {})
  child.stdin.end(`${JSON.stringify(claim)}\n`)
  const kill = () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
  }
  signal.addEventListener('abort', kill, { once: true })
  return new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => {
      if (code === 0) return resolve()
      reject(new Failure('failed', `The command exited with ${code ?? by}.`))
    })
  }).finally(() => signal.removeEventListener('abort', kill))
}
