// The dependencies of a worker of deliveries: the test plays the far end of every connection, and the clock stands
// still until it is moved.

import assert from 'node:assert/strict'
import { unreadContent } from '@mailroom/mail-reading/extract/extract.ts'
import { bodyParts } from '@mailroom/mail-reading/quote/body-parts.ts'
import { viewBody } from '@mailroom/mail-reading/view/view-body.ts'
import type { Stage } from '@mailroom/smtp/client/outgoing-mail.ts'
import type { Carrier, CarryOutcome, Consignment } from '#delivery/carrier.ts'
import type { DeliverDeps } from '#delivery/delivery-queue.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import type { DispatchedQueue, Item } from '#queue/dispatched-queue.ts'
import type { Db, Row } from '#store/tables.ts'
import { makeId } from '#test/conformance/open-database.ts'

export type StillClock = Clock & {
  /** Time passes. */
  advance(ms: number): void
  /** The wall clock is set. */
  step(ms: number): void
}

export function stillClock(startMs: number): StillClock {
  let passedMs = 0
  let steppedMs = 0
  return {
    ...systemClock,
    now: () => startMs + passedMs + steppedMs,
    monotonic: () => passedMs,
    steady: () => startMs + passedMs,
    advance(ms) {
      passedMs += ms
    },
    step(ms) {
      steppedMs += ms
    },
  }
}

/** Leases what is ready, up to 100 of each account in each of 100 lanes. */
export async function leaseReady<Held extends Item>(queue: DispatchedQueue<Held>): Promise<Held[]> {
  const after = { account: '', lane: '' }
  const heads = await queue.listHeads({ after, lanesEach: 100, limit: 100 })
  return queue.lease(heads.map((head) => ({ ...head, limit: 100 })))
}

/** Leases one delivery of the account in the lane; the group that it makes. */
export async function leaseGroup<Held extends Item>(
  queue: DispatchedQueue<Held>,
  account: string,
  lane: string,
) {
  const [group] = queue.group(await queue.lease([{ account, lane, limit: 1 }]))
  assert.ok(group)
  return group
}

export const ACCEPTED: CarryOutcome = {
  kind: 'accepted',
  reply: { code: 250, enhanced: '2.0.0', text: 'Queued' },
}

/** Parses a reply as a server writes it: `550 5.1.1 No such user`. */
export function refused(stage: Stage, words: string): CarryOutcome {
  const [, code, enhanced, text] = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(words) ?? []
  return {
    kind: 'refused',
    stage,
    reply: { code: Number(code), enhanced: enhanced ?? null, text: text ?? '' },
  }
}

export const UNSENT: CarryOutcome = {
  kind: 'unsent',
  stage: 'connect',
  failure: { kind: 'network', code: 'ECONNREFUSED', text: 'Connection refused' },
}

export const AMBIGUOUS: CarryOutcome = {
  kind: 'ambiguous',
  failure: { kind: 'network', code: 'ECONNRESET', text: 'Connection reset' },
}

export type FarEnd = Carrier & { readonly seen: Consignment[] }

/** The servers of all destinations; `answer` gives the reply for each recipient. */
export function openFarEnd(
  answer: (
    recipient: string,
    consignment: Consignment,
    signal: AbortSignal,
  ) => CarryOutcome | Promise<CarryOutcome>,
): FarEnd {
  const seen: Consignment[] = []
  return {
    seen,
    async carry(consignment, signal) {
      seen.push(consignment)
      const outcomes = await Promise.all(
        consignment.recipients.map((recipient) => answer(recipient, consignment, signal)),
      )
      return { host: `mx.${consignment.destination}`, tls: 'TLSv1.3', outcomes }
    },
    close: () => Promise.resolve(),
  }
}

export function deliverDeps(
  db: Db,
  clock: Clock,
  carrier: Carrier | null,
): DeliverDeps & { laneOf(domain: string): string } {
  return {
    db,
    blobs: null,
    clock,
    makeId,
    log: silentLog,
    parser: {
      parse: () => Promise.reject(new Error('Nothing is delivered here.')),
      readAttachment: () => Promise.resolve(null),
      readAttachments: () => Promise.resolve([]),
      replyToInvite: () => Promise.resolve({ kind: 'no-invitation' }),
      readReport: () => Promise.resolve({ kind: 'none' }),
      makeBodies: (source) => Promise.resolve(bodyParts(source)),
      writeMarkdown: () => Promise.resolve(null),
      makeView: (source) => viewBody(source),
      show: () => Promise.resolve(null),
      readContent: (source) => Promise.resolve(unreadContent(source)),
      findSecrets: () => Promise.resolve(null),
      findMentions: () => Promise.resolve(null),
      indexMentions: () => Promise.resolve(null),
    },
    inboxDomain: 'mailroom.localhost',
    carrier,
    isMailHostOf: () => Promise.resolve(true),
    queueClock: { now: () => clock.steady(), check: () => Promise.resolve() },
    countDelivery: () => {},
    countReport: () => {},
    wakeEvents: () => {},
    deriveKey: () => new Uint8Array(32),
    authenticator: null,
    rejectDmarcFailures: true,
    readsFiles: () => false,
    laneOf: (domain) => domain,
    storageQuota: {
      limitBytes: null,
      isExceeded: () => Promise.resolve(false),
      isFull: () => Promise.resolve(false),
    },
  }
}

/** The deliveries of these messages, in the order of their creation. */
export function deliveriesOf(db: Db, messageIds: string[]): Promise<Row<'deliveries'>[]> {
  return db.read
    .selectFrom('deliveries')
    .selectAll()
    .where('message_id', 'in', messageIds)
    .orderBy('id')
    .execute()
}
