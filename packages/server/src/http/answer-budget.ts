// A budget for responses. The part of a response that the client has not read yet is in memory, so it is counted,
// bounded for each account and for all, and dropped when the client stops reading.

import { finished, Stream } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#platform/clock.ts'
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

/** A streamed response keeps its slot for so long before others that wait have theirs. */
const TURN_MS_MAX = 500
/** It loses the slot at once when its client has not read the last part for this long. */
const STALL_MS = 100

export type AnswerKind = 'read' | 'view'

export type AnswerBounds = { readonly max: number; readonly eachMax: number }

declare module 'fastify' {
  interface FastifyRequest {
    answerHold: AnswerHold | null
  }
}

type AnswerHold = {
  /** False when there is no room for so many more octets. */
  add(bytes: number): boolean
  force(bytes: number): void
  takeSlot(kind: AnswerKind): Promise<void>
  takeTurn(): Promise<EndTurn | null>
  /** The response begins. That of a stream keeps its slot, for its turns. */
  begin(isStream: boolean): void
}

type EndTurn = () => Promise<void>

export class AnswerBudget {
  readonly #accounts: Octets
  readonly #strangers = new Octets(STRANGERS)
  readonly #slots = { read: new Semaphore(MADE_AT_ONCE), view: new Semaphore(MADE_AT_ONCE) }

  readonly #clock: Clock

  /** `bounds` are those of accounts. */
  constructor(clock: Clock, bounds: AnswerBounds = ACCOUNTS) {
    this.#clock = clock
    this.#accounts = new Octets(bounds)
  }

  /** Throws `service_unavailable` for an account with too much unread, before anything is done for the request. */
  requireRoom({ caller }: FastifyRequest): void {
    if (caller?.kind === 'key' && this.#accounts.isOver(caller.accountId)) throw unread()
  }

  /** Takes a slot until the response is sent. Rejects with `service_unavailable`. */
  takeSlot(request: FastifyRequest, reply: FastifyReply, kind: AnswerKind): Promise<void> {
    return this.#holdOf(request, reply).takeSlot(kind)
  }

  /**
   * Waits for the slot in which the next part of a streamed response is made. The returned function is to be called when the
   * part is made; it lets other requests run. Null when the client has left.
   */
  takeTurn(request: FastifyRequest, reply: FastifyReply): Promise<EndTurn | null> {
    return this.#holdOf(request, reply).takeTurn()
  }

  /** Counts octets of a response that can no longer be refused. */
  force(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    this.#holdOf(request, reply).force(bytes)
  }

  /** Throws `service_unavailable` when there is no room for so many octets. */
  reserve(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    if (!this.#holdOf(request, reply).add(bytes)) throw unread()
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
      request.answerHold?.begin(payload instanceof Stream)
      const bytes = request.method === 'HEAD' ? 0 : sizeOf(payload)
      if (bytes <= SMALL_ANSWER_BYTES) return
      // A request that changed something is done, and an error cannot be refused.
      if (request.method !== 'GET' || reply.statusCode >= 400) this.force(request, reply, bytes)
      else if (!this.#holdOf(request, reply).add(bytes)) {
        dropHeaders(reply)
        throw unread()
      }
    })
  }

  #holdOf(request: FastifyRequest, reply: FastifyReply): AnswerHold {
    request.answerHold ??= this.#open(request, reply)
    return request.answerHold
  }

  #open({ caller, clientAddress }: FastifyRequest, reply: FastifyReply): AnswerHold {
    const address = `address ${clientGroup(clientAddress)}`
    const owner = caller?.kind === 'key' ? caller.accountId : address
    // Signed URLs come from accounts.
    const isOfAccount = caller?.kind === 'key' || caller?.kind === 'signed'
    const octets = isOfAccount ? this.#accounts : this.#strangers
    let own = 0
    let isOver = false
    const leaving = new AbortController()
    const slots = this.#slotsOf(owner, leaving.signal)
    finished(reply.raw, () => {
      octets.force(owner, -own)
      isOver = true
      leaving.abort()
    })
    return {
      ...slots,
      // After the client has left nothing is counted, because nothing would release it.
      add(bytes) {
        if (isOver) return true
        const isAdded = octets.add(owner, bytes)
        if (isAdded) own += bytes
        return isAdded
      },
      force(bytes) {
        if (isOver) return
        octets.force(owner, bytes)
        own += bytes
      },
    }
  }

  /** The slot of one response. One that was taken is kept after `leaving`, until the work in it has ended. */
  #slotsOf(owner: string, leaving: AbortSignal): Omit<AnswerHold, 'add' | 'force'> {
    const clock = this.#clock
    let first: Promise<Release | Refusal> | null = null
    let slot: Release | null = null
    let isMaking = true
    let turnUntilMs = Number.POSITIVE_INFINITY
    let stall: NodeJS.Timeout | undefined
    const free = () => {
      clearTimeout(stall)
      slot?.()
      slot = null
    }
    const pause = () => {
      isMaking = false
      if (leaving.aborted) free()
      else stall = setTimeout(free, STALL_MS)
    }
    leaving.addEventListener('abort', () => {
      if (!isMaking) free()
    })
    return {
      takeSlot: async (kind) => {
        first ??= this.#slots[kind].acquire({ key: owner, signal: leaving })
        const outcome = await first
        if (typeof outcome === 'string') throw busy()
        slot = outcome
        // A long message takes some 50 ms: other requests are served in between.
        await nextTurn()
      },
      takeTurn: async () => {
        clearTimeout(stall)
        if (clock.monotonic() > turnUntilMs) free()
        while (slot === null) {
          const outcome = await this.#slots.read.acquire({ key: owner, signal: leaving })
          if (outcome === 'aborted') return null
          // A response that has begun is not refused for a long wait.
          if (typeof outcome !== 'string') slot = outcome
          turnUntilMs = clock.monotonic() + TURN_MS_MAX
        }
        isMaking = true
        return () => nextTurn().then(pause)
      },
      begin(isStream) {
        turnUntilMs = clock.monotonic() + TURN_MS_MAX
        if (isStream) pause()
        else free()
      },
    }
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
