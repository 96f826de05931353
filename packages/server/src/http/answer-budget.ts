// A budget for responses. The part of a response that the client has not read yet is in memory, so it is counted,
// bounded for each account and for all, and dropped when the client stops reading.

import { finished } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, type Release, Semaphore } from '#platform/semaphore.ts'
import { busy, Octets } from './fair-shares.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** Unread octets of responses to accounts; above it a large response is refused. */
const ACCOUNTS = { max: 256 * MIB, eachMax: 128 * MIB }
/** The same for callers without a key, by address: the API description, pages, files of the console. */
const STRANGERS = { max: 64 * MIB, eachMax: 16 * MIB }
/** Smaller responses are not counted: the kernel buffers them, whether the client reads or not. */
const SMALL_ANSWER_BYTES = 16 * KIB
/** Memory of a long thread that is sent step by step: 20 rows of up to 192 KiB each. */
export const STREAMED_ANSWER_BYTES = 4 * MIB
/**
 * Responses made at once: a page of long messages takes up to 50 MiB until it is sent. Views have slots of their
 * own, because they wait for the parser.
 */
const MADE_AT_ONCE = { limit: 3, limitPerKey: 2, waitMsMax: 30_000 }

export type AnswerKind = 'read' | 'view'

export type AnswerBounds = { readonly max: number; readonly eachMax: number }

declare module 'fastify' {
  interface FastifyRequest {
    answerHold: AnswerHold | null
  }
}

type AnswerHold = {
  readonly owner: string
  readonly octets: Octets
  held: number
  /** Aborted when the response is sent or the client has left. */
  readonly leaving: AbortController
  slot: Promise<Release | Refusal> | null
}

/** Lets other requests run, and frees the slot. */
type EndTurn = () => Promise<void>

export class AnswerBudget {
  readonly #accounts: Octets
  readonly #strangers = new Octets(STRANGERS)
  readonly #slots = { read: new Semaphore(MADE_AT_ONCE), view: new Semaphore(MADE_AT_ONCE) }

  /** `bounds` are those of accounts. */
  constructor(bounds: AnswerBounds = ACCOUNTS) {
    this.#accounts = new Octets(bounds)
  }

  /** Throws `service_unavailable` for an account with too much unread, before anything is done for the request. */
  requireRoom({ caller }: FastifyRequest): void {
    if (caller?.kind === 'key' && this.#accounts.isOver(caller.accountId)) throw unread()
  }

  /**
   * Takes a slot until the response begins, even if the client has left by then: the work continues. Rejects with
   * `service_unavailable`.
   */
  async takeSlot(request: FastifyRequest, reply: FastifyReply, kind: AnswerKind): Promise<void> {
    const hold = this.#holdOf(request, reply)
    const { owner: key, leaving } = hold
    hold.slot ??= this.#slots[kind].acquire({ key, signal: leaving.signal })
    if (typeof (await hold.slot) === 'string') throw busy()
    // A long message takes some 50 ms: other requests are served in between.
    await nextTurn()
  }

  /** Waits for the slot in which the next part of a streamed response is made. Null when the client has left. */
  async takeTurn(request: FastifyRequest, reply: FastifyReply): Promise<EndTurn | null> {
    const { owner: key, leaving } = this.#holdOf(request, reply)
    for (;;) {
      const slot = await this.#slots.read.acquire({ key, signal: leaving.signal })
      if (typeof slot !== 'string') return () => nextTurn().then(slot)
      // A response that has begun is not refused for a long wait.
      if (slot === 'aborted') return null
    }
  }

  /** Counts octets of a response that can no longer be refused. */
  force(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    const hold = this.#holdOf(request, reply)
    // After the client has left nothing is counted, because nothing would release it.
    if (hold.leaving.signal.aborted) return
    hold.octets.force(hold.owner, bytes)
    hold.held += bytes
  }

  /** Throws `service_unavailable` when there is no room for so many octets. */
  reserve(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    const { octets, owner, leaving } = this.#holdOf(request, reply)
    if (!leaving.signal.aborted && !octets.hasRoom(owner, bytes)) throw unread()
    this.force(request, reply, bytes)
  }

  /**
   * Counts each response until it is sent, refuses it when there is no room, and disconnects clients that read
   * nothing for `idleMs`. Runs before compression, because the uncompressed response is in memory as well.
   */
  watch(app: FastifyInstance, idleMs: number): void {
    app.decorateRequest('answerHold', null)
    app.addHook('onSend', async (request, reply, payload) => {
      // Each octet that a slow client reads restarts the time.
      reply.raw.setTimeout(idleMs, () => reply.raw.destroy())
      const slot = await request.answerHold?.slot
      if (typeof slot === 'function') slot()
      const bytes = request.method === 'HEAD' ? 0 : sizeOf(payload)
      if (bytes <= SMALL_ANSWER_BYTES) return
      // A request that changed something is done, and an error cannot be refused.
      if (request.method !== 'GET' || reply.statusCode >= 400) {
        return this.force(request, reply, bytes)
      }
      try {
        this.reserve(request, reply, bytes)
      } catch (error) {
        dropHeaders(reply)
        throw error
      }
    })
  }

  #holdOf(request: FastifyRequest, reply: FastifyReply): AnswerHold {
    if (request.answerHold !== null) return request.answerHold
    const { caller, clientAddress } = request
    const owner =
      caller?.kind === 'key' ? caller.accountId : `address ${clientGroup(clientAddress)}`
    // Signed URLs come from accounts.
    const isOfAccount = caller?.kind === 'key' || caller?.kind === 'signed'
    const octets = isOfAccount ? this.#accounts : this.#strangers
    const hold = { owner, octets, held: 0, leaving: new AbortController(), slot: null }
    finished(reply.raw, () => {
      octets.force(owner, -hold.held)
      hold.leaving.abort()
    })
    request.answerHold = hold
    return hold
  }
}

function unread() {
  return busy('Too many answers are waiting to be read.')
}

/** 0 for a stream, for which `answer` has reserved memory. */
function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') {
    return payload.length <= SMALL_ANSWER_BYTES / 3 ? 0 : Buffer.byteLength(payload)
  }
  return payload instanceof Uint8Array ? payload.byteLength : 0
}

/** Removes the headers of the refused response; those about the request and its limits stay. */
function dropHeaders(reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) {
    if (!/^(?:x-request-id|x-content-type-options|ratelimit-.*)$/.test(name)) {
      reply.removeHeader(name)
    }
  }
}
