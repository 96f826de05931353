// Answers on their way out. What a client has not taken in yet is in the memory of the service, so it is
// counted, bounded for each account and for all, and given up when the client stops reading.

import { finished } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, type Release, Semaphore } from '#platform/semaphore.ts'
import { busy, Octets } from './fair-shares.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** Octets of answers to accounts that are not taken in yet; a large answer past it is refused. */
const ACCOUNTS = { max: 256 * MIB, eachMax: 128 * MIB }
/** The same for callers without a key, by address: the description, the pages, the console's files. */
const STRANGERS = { max: 64 * MIB, eachMax: 16 * MIB }
/** Smaller answers are not counted: the kernel takes them in at once, whether they are read or not. */
const SMALL_ANSWER_BYTES = 16 * KIB
/** What a long thread holds while it is sent step by step: 20 rows of up to 192 KiB each. */
export const STREAMED_ANSWER_BYTES = 4 * MIB
/**
 * Answers that are made at once: a page of long messages takes up to 50 MiB until it is written. Views are
 * apart, for they wait for the parser.
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
  /** False where there is no room for so many octets more. */
  add(bytes: number): boolean
  force(bytes: number): void
  takeSlot(kind: AnswerKind): Promise<void>
  releaseSlot(): void
}

export class AnswerBudget {
  readonly #accounts: Octets
  readonly #strangers = new Octets(STRANGERS)
  readonly #slots = { read: new Semaphore(MADE_AT_ONCE), view: new Semaphore(MADE_AT_ONCE) }

  /** `bounds` for accounts, smaller in tests. */
  constructor(bounds: AnswerBounds = ACCOUNTS) {
    this.#accounts = new Octets(bounds)
  }

  /** Throws `service_unavailable` for an account that has more unread than it may; nothing was done yet. */
  requireRoom({ caller }: FastifyRequest): void {
    if (caller?.kind === 'key' && this.#accounts.isOver(caller.accountId)) throw unread()
  }

  /** Resolves when the answer may be made, until it is sent. Rejects with `service_unavailable`. */
  takeSlot(request: FastifyRequest, reply: FastifyReply, kind: AnswerKind): Promise<void> {
    return this.#holdOf(request, reply).takeSlot(kind)
  }

  /** Counts octets of an answer that cannot be refused any more. */
  force(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    this.#holdOf(request, reply).force(bytes)
  }

  /** Throws `service_unavailable` where there is no room for so many octets. */
  reserve(request: FastifyRequest, reply: FastifyReply, bytes: number): void {
    if (!this.#holdOf(request, reply).add(bytes)) throw unread()
  }

  /**
   * Counts each answer until it is written, refuses what there is no room for, and cuts clients that take in
   * nothing for `idleMs`. Before whatever compresses answers, whose source is in memory as well.
   */
  watch(app: FastifyInstance, idleMs: number): void {
    app.decorateRequest('answerHold', null)
    app.addHook('onSend', async (request, reply, payload) => {
      // A client that reads slowly starts the time anew with every bit that it takes in.
      reply.raw.setTimeout(idleMs, () => reply.raw.destroy())
      request.answerHold?.releaseSlot()
      const bytes = request.method === 'HEAD' ? 0 : sizeOf(payload)
      if (bytes <= SMALL_ANSWER_BYTES) return
      // What changed something was done, and an error is no answer to refuse.
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
    // Who has a signed URL has it of an account.
    const isOfAccount = caller?.kind === 'key' || caller?.kind === 'signed'
    const octets = isOfAccount ? this.#accounts : this.#strangers
    let own = 0
    let isOver = false
    let slot: Promise<Release | Refusal> | null = null
    let releaseSlot: Release | null = null
    const leaving = new AbortController()
    finished(reply.raw, () => {
      octets.force(owner, -own)
      isOver = true
      // A slot is kept: the work goes on when the client has left.
      leaving.abort()
    })
    return {
      // An answer that is ready when its client has left is dropped at once: nothing would give back its room.
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
      takeSlot: async (kind) => {
        slot ??= this.#slots[kind].acquire({ key: owner, signal: leaving.signal })
        const outcome = await slot
        if (typeof outcome === 'string') throw busy()
        releaseSlot = outcome
        // Reading and writing a long message takes some 50 ms; whoever else has come is served in between.
        await nextTurn()
      },
      releaseSlot: () => releaseSlot?.(),
    }
  }
}

function unread() {
  return busy('Too many answers are waiting to be read.')
}

/** Octets of an answer that is at hand; of a stream, which counts by itself, none. */
function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') {
    return payload.length <= SMALL_ANSWER_BYTES / 3 ? 0 : Buffer.byteLength(payload)
  }
  return payload instanceof Uint8Array ? payload.byteLength : 0
}

/** Those of the answer that is not given; what was said about the request and its limits stays. */
function dropHeaders(reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) {
    if (!/^(?:x-request-id|x-content-type-options|ratelimit-.*)$/.test(name)) {
      reply.removeHeader(name)
    }
  }
}
