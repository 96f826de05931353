import type { Claim, RenewedClaim } from '@mailroom/contract/claims.ts'
import type { Message } from '@mailroom/contract/messages.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { Handlers, KeyContext } from '#http/handler.ts'
import { hashOfLeaseToken } from '#mailbox/claims/store/claim-token.ts'
import {
  claimThread,
  type MadeClaim,
  releaseClaim,
  renewClaim,
} from '#mailbox/claims/store/claims.ts'
import { labelFacet } from '#mailbox/labels/store/facets.ts'
import { getThread, presentThread } from '#mailbox/mailbox.ts'
import { CUT_READ_LENGTH, presentListed } from '#mailbox/messages/messages.ts'
import { findNewestReceived } from '#mailbox/messages/store/messages.ts'
import { findShownThreads } from '#mailbox/threads/store/threads.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound, problem } from '#platform/problem.ts'
import {
  type ClaimWaitDeps,
  type GivenClaim,
  makeLeaseToken,
  releaseClaims,
  waitForClaims,
} from './claim-waits.ts'
import { waitAsReader } from './wait-as-reader.ts'

type Deps = ClaimWaitDeps & Parameters<typeof presentListed>[1]

type ClaimOperation =
  | 'inboxes.claimThreads'
  | 'threads.claim'
  | 'threads.renewClaim'
  | 'threads.releaseClaim'

export function claimHandlers(deps: Deps, readers: EventReaders): Pick<Handlers, ClaimOperation> {
  return { ...queueHandler(deps, readers), ...threadHandlers(deps) }
}

function queueHandler(deps: Deps, readers: EventReaders): Pick<Handlers, 'inboxes.claimThreads'> {
  return {
    'inboxes.claimThreads': async ({ path, body }, context) => {
      const { accountId } = context
      const { owner, leaseSeconds, max = 1, waitSeconds = 0, category = null, labels = [] } = body
      const claims = await waitAsReader(readers, context, (signal) =>
        waitForClaims(deps, {
          accountId,
          inboxId: path.id,
          owner,
          leaseMs: leaseSeconds * 1000,
          max,
          waitMs: waitSeconds * 1000,
          category,
          facets: [...new Set(labels)].map(labelFacet),
          signal,
        }),
      )
      if (claims === null || claims.length === 0) return { data: [] }
      // A client that left before the response never learned its tokens.
      context.onGone((wasAnswered) => {
        if (!wasAnswered) releaseClaims(deps, accountId, claims)
      })
      const threadIds = claims.map(({ threadId }) => threadId)
      const read = async () => {
        const messages = await readNewest(deps, { ...context, threadIds })
        return { messages, threads: await findShownThreads(deps.db, { accountId, threadIds }) }
      }
      const { messages, threads } = await orRelease(deps, { accountId, claims }, read)
      const byId = new Map(threads.map((thread) => [thread.id, thread]))
      return {
        data: claims.flatMap((claim) => {
          const thread = byId.get(claim.threadId)
          // The thread was removed after the claim.
          if (thread === undefined) return []
          const given = presentGiven(claim, messages)
          return [{ ...given, thread: presentThread(thread, deps) }]
        }),
      }
    },
  }
}

/** The newest received message of each thread that has one. */
async function readNewest(
  deps: Deps,
  asked: Pick<KeyContext, 'accountId' | 'takeSlot'> & { threadIds: readonly string[] },
): Promise<Map<string, Message>> {
  await asked.takeSlot()
  const { accountId, threadIds } = asked
  const found = { accountId, threadIds, bodyLengthMax: CUT_READ_LENGTH }
  const newest = await findNewestReceived(deps.db, found)
  const shown = await Array.fromAsync(presentListed(newest, deps, deps.clock.now()))
  return new Map(shown.map((message) => [message.threadId, message]))
}

/** A client that gets an error never learns the tokens. */
function orRelease<Value>(
  deps: Deps,
  { accountId, claims }: { accountId: string; claims: readonly GivenClaim[] },
  read: () => Promise<Value>,
): Promise<Value> {
  return read().catch((error) => {
    releaseClaims(deps, accountId, claims)
    throw error
  })
}

function threadHandlers(
  deps: Deps,
): Pick<Handlers, Exclude<ClaimOperation, 'inboxes.claimThreads'>> {
  const now = async () => {
    await deps.queueClock.check()
    return { queueMs: deps.queueClock.now(), nowMs: deps.clock.now() }
  }
  return {
    'threads.claim': async ({ path, body }, { accountId, takeSlot }) => {
      const leaseToken = makeLeaseToken(deps.chance)
      const outcome = await deps.db.write(claimThread, {
        accountId,
        threadId: path.id,
        owner: body.owner,
        leaseMs: body.leaseSeconds * 1000,
        tokenHash: hashOfLeaseToken(leaseToken) ?? new Uint8Array(),
        eventId: deps.makeId('evt'),
        expiredEventId: deps.makeId('evt'),
        ...(await now()),
      })
      if (outcome.kind === 'not_found') throw notFound()
      if (outcome.kind === 'trashed') throw problem('thread_trashed')
      if (outcome.kind === 'taken') {
        const expiresAt = presentTime(outcome.expiresAtMs)
        throw problem('thread_claimed', undefined, { fields: { expiresAt } })
      }
      deps.wakeEvents()
      const claim = { ...outcome.claim, leaseToken }
      const asked = { accountId, takeSlot, threadIds: [path.id] }
      const newest = await orRelease(deps, { accountId, claims: [claim] }, () =>
        readNewest(deps, asked),
      )
      return presentGiven(claim, newest)
    },
    'threads.renewClaim': async ({ path, body }, { accountId, headers }) => {
      const { leaseSeconds } = body
      const outcome = await deps.db.write(renewClaim, {
        accountId,
        threadId: path.id,
        tokenHash: hashOfLeaseToken(headers['lease-token']),
        leaseMs: leaseSeconds === undefined ? null : leaseSeconds * 1000,
        ...(await now()),
      })
      return presentClaim(keptOf(outcome))
    },
    'threads.releaseClaim': async ({ path, body }, { accountId, headers }) => {
      const outcome = await deps.db.write(releaseClaim, {
        accountId,
        threadId: path.id,
        tokenHash: hashOfLeaseToken(headers['lease-token']),
        isRead: body.isRead ?? null,
        eventId: deps.makeId('evt'),
        changeEventId: deps.makeId('evt'),
        ...(await now()),
      })
      keptOf(outcome)
      deps.wakeEvents()
      return presentThread(await getThread(deps, { accountId, threadId: path.id }), deps)
    },
  }
}

function keptOf<Value>(
  outcome: { kind: 'kept'; value: Value } | { kind: 'not_found' } | { kind: 'lease_lost' },
): Value {
  if (outcome.kind === 'kept') return outcome.value
  throw outcome.kind === 'not_found' ? notFound() : problem('lease_lost')
}

function presentClaim({ expiresAtMs, ...claim }: MadeClaim): RenewedClaim {
  return { ...claim, expiresAt: presentTime(expiresAtMs) }
}

function presentGiven(
  { leaseToken, ...claim }: GivenClaim,
  newest: ReadonlyMap<string, Message>,
): Claim {
  return { ...presentClaim(claim), leaseToken, message: newest.get(claim.threadId) ?? null }
}
