// Bounds the memory of responses that clients have not read yet, per account and in total.

import { finished } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, type Release, Semaphore } from '#platform/semaphore.ts'
import { busy, Octets } from './fair-shares.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** Maximum unread octets of responses to accounts. */
const ACCOUNTS = { max: 256 * MIB, eachMax: 128 * MIB }
/**
 * Maximum for callers without a key, by address: the API description, pages, the console's files.
 */
const STRANGERS = { max: 64 * MIB, eachMax: 16 * MIB }
/** Smaller responses are ignored, because the kernel buffers them. */
const SMALL_ANSWER_BYTES = 16 * KIB
/** A streamed long thread: 20 rows of up to 192 KiB each. */
export const STREAMED_ANSWER_BYTES = 4 * MIB
/**
 * A page of long messages uses up to 50 MiB until it is sent. Views have separate slots, because
 * they wait for the parser.
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
  /** Aborts when the response is sent or the client has disconnected. */
  readonly leaving: AbortController
  slot: Promise<Release | Refusal> | null
}

type EndTurn = () => Promise<void>

export class AnswerBudget {
  readonly #accounts: Octets
  readonly #strangers = new Octets(STRANGERS)
  readonly #slots = { read: new Semaphore(MADE_AT_ONCE), view: new Semaphore(MADE_AT_ONCE) }

  constructor(bounds: AnswerBounds = ACCOUNTS) {
    this.#accounts = new Octets(bounds)
  }

  /** Throws `service_unavailable` for an account with too many unread octets. */
  requireRoom({ caller }: FastifyRequest): void {
    if (caller?.kind === 'key' && this.#accounts.isOver(caller.accountId)) throw unread()
  }

  /** Occupies a slot until the response begins. Rejects with `service_unavailable`. */
  async takeSlot(request: FastifyRequest, reply: FastifyReply, kind: AnswerKind): Promise<void> {
    const hold = this.#holdOf(request, reply)
    const { owner: key, leaving } = hold
    hold.slot ??= this.#slots[kind].acquire({ key, signal: leaving.signal })
    if (typeof (await hold.slot) === 'string') throw busy()
    // A long message takes some 50 ms, so other requests run in between.
    await nextTurn()
  }

  /** Waits for the slot of the next part of a streamed response. Null if the client disconnects. */
  async takeTurn(request: FastifyRequest, reply: FastifyReply): Promise<EndTurn | null> {
    const { owner: key, leaving } = this.#holdOf(request, reply)
    for (;;) {
      const slot = await this.#slots.read.acquire({ key, signal: leaving.signal })
      if (typeof slot !== 'string') return () => nextTurn().then(slot)
      // A response that has begun can no longer be refused.
      if (slot === 'aborted') return null
    }
  }

  /** Counts octets even if they exceed the budget. */
  force(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    const hold = this.#holdOf(request, reply)
    // After the client has disconnected, the octets would never be released.
    if (hold.leaving.signal.aborted) return
    hold.octets.force(hold.owner, bytes)
    hold.held += bytes
  }

  /** Throws `service_unavailable` if there is no room. */
  reserve(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    const { octets, owner, leaving } = this.#holdOf(request, reply)
    if (!leaving.signal.aborted && !octets.hasRoom(owner, bytes)) throw unread()
    this.force(request, reply, bytes)
  }

  /**
   * Disconnects clients that read nothing for `idleMs`. Runs before compression, because the
   * uncompressed response is in memory too.
   */
  watch(app: FastifyInstance, idleMs: number): void {
    app.decorateRequest('answerHold', null)
    app.addHook('onSend', async (request, reply, payload) => {
      // Every octet that a slow client reads restarts the timeout.
      reply.raw.setTimeout(idleMs, () => reply.raw.destroy())
      const slot = await request.answerHold?.slot
      if (typeof slot === 'function') slot()
      const bytes = request.method === 'HEAD' ? 0 : sizeOf(payload)
      if (bytes <= SMALL_ANSWER_BYTES) return
      // Completed changes and errors cannot be refused.
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

/** The size of a payload; streams use `reserve` instead. */
function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') {
    return payload.length <= SMALL_ANSWER_BYTES / 3 ? 0 : Buffer.byteLength(payload)
  }
  return payload instanceof Uint8Array ? payload.byteLength : 0
}

function dropHeaders(reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) {
    if (!/^(?:x-request-id|x-content-type-options|ratelimit-.*)$/.test(name)) {
      reply.removeHeader(name)
    }
  }
}
