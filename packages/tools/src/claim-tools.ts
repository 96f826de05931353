// Tools for several workers on one inbox: claims and labels of threads.

import type { Claim } from '@mailroom/sdk'
import { z } from 'zod'
import { ToolProblem } from '#problem.ts'
import { defineTool, id, inbox, leaseToken, lines } from './tool.ts'

const OWNER_LENGTH_MAX = 200
const LEASE_SECONDS_MIN = 10
const LEASE_SECONDS_MAX = 3_600
const LEASE_SECONDS_DEFAULT = 600

export const claimThread = defineTool({
  name: 'claim_thread',
  scope: 'mail:organise',
  title: 'Claim a thread',
  description:
    'If others work on the same inbox: claim a thread or, without thread_id, the oldest unread one that is free. Until release_thread or the end of the lease, only calls with the lease_token can change it.',
  input: {
    thread_id: id('The thread (thr_…).').optional(),
    inbox: inbox.describe('Without thread_id: id or address of the inbox.'),
    owner: z.string().min(1).max(OWNER_LENGTH_MAX).default('model').describe('Who you are.'),
    lease_seconds: z
      .int()
      .min(LEASE_SECONDS_MIN)
      .max(LEASE_SECONDS_MAX)
      .default(LEASE_SECONDS_DEFAULT)
      .describe('How long you need it at most.'),
  },
  isReading: false,
  isIdempotent: false,
  isOpenWorld: false,
  async run({ thread_id: threadId, inbox: named, owner, lease_seconds }, { access, signal }) {
    const wanted = { owner, leaseSeconds: lease_seconds }
    if (threadId !== undefined) {
      await access.thread(threadId)
      return claimed(await access.client.threads.claim(threadId, wanted, { signal }))
    }
    const { id: inboxId, address } = await access.inbox(named)
    const { data } = await access.client.inboxes.claimThreads(inboxId, wanted, { signal })
    const [claim] = data
    return claim === undefined ? `No unread thread in ${address} is free.` : claimed(claim)
  },
})

function claimed({ threadId, leaseToken: token, expiresAt }: Claim): string {
  return lines(
    `Thread ${threadId} is yours until ${expiresAt}.`,
    `lease_token: ${token}`,
    'Read it with read_thread.',
  )
}

export const releaseThread = defineTool({
  name: 'release_thread',
  scope: 'mail:organise',
  title: 'Release a thread',
  description:
    'Release a thread that you claimed. Mark it as read if it is done: others can claim an unread thread at once.',
  input: {
    thread_id: id('The thread (thr_…).'),
    lease_token: leaseToken,
    state: z.enum(['read', 'unread']).optional().describe('The new state; unchanged if omitted.'),
  },
  isReading: false,
  isIdempotent: false,
  isOpenWorld: false,
  async run({ thread_id: threadId, state }, { access, signal }) {
    await access.thread(threadId)
    const isRead = state === undefined ? {} : { isRead: state === 'read' }
    await access.client.threads.releaseClaim(threadId, isRead, { signal })
    return `Thread ${threadId} is released.`
  },
})

const label = z.string().regex(/^[a-z0-9][a-z0-9_./-]{0,63}$/)
const LABELS_MAX = 64

export const labelThread = defineTool({
  name: 'label_thread',
  scope: 'mail:organise',
  title: 'Label or mark a thread',
  description:
    'Add labels to a thread or remove them, and mark it as read once it is handled, or as unread.',
  input: {
    thread_id: id('The thread (thr_…).'),
    add: z
      .array(label)
      .max(LABELS_MAX)
      .default([])
      .describe('Labels: lower-case letters, digits and _ . / -'),
    remove: z.array(label).max(LABELS_MAX).default([]).describe('Labels to remove.'),
    state: z.enum(['read', 'unread']).optional().describe('The new state; unchanged if omitted.'),
    lease_token: leaseToken.optional(),
  },
  isReading: false,
  isIdempotent: true,
  isOpenWorld: false,
  async run({ thread_id: threadId, add, remove, state }, { access, signal }) {
    const isRead = state === undefined ? {} : { isRead: state === 'read' }
    if (add.length + remove.length === 0 && state === undefined) {
      throw new ToolProblem('Nothing to change: name labels in add or remove, or a state.')
    }
    await access.thread(threadId)
    const change = { addLabels: add, removeLabels: remove, ...isRead }
    const { labels } = await access.client.threads.update(threadId, change, { signal })
    const told = `Labels of ${threadId}: ${labels.length === 0 ? 'none' : labels.join(', ')}.`
    return state === undefined ? told : `${told} It is ${state} now.`
  },
})
