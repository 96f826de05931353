// Carrying a message to the first of several addresses that takes it in: an idle connection first, a
// new one else, the next address when one leads nowhere.

import type { Clock } from '#base/clock.ts'
import { SILENT_HOST_MS, SILENT_HOSTS_MAX } from '#base/limits.ts'
import {
  type ClientTimeouts,
  type ClientTls,
  type Credentials,
  type Failure,
  type OutgoingMail,
  openSmtpClient,
  type RecipientOutcome,
  type SmtpClient,
  type Stage,
} from '#net/smtp/client/smtp-client.ts'
import type { Carried } from './carrier.ts'
import { ConnectionPool } from './connection-pool.ts'

export type Place = {
  /** Its name, for people and for SNI. */
  readonly host: string
  readonly address: string
  readonly port: number
  readonly tls: ClientTls
  readonly implicitTls?: boolean
  readonly credentials?: Credentials | null
}

export type HostCallerOptions = {
  /** Our name in EHLO. */
  readonly hostname: string
  readonly clock: Clock
  /** Shorter in tests. */
  readonly timeouts?: Partial<ClientTimeouts>
}

type Trouble = { readonly stage: Stage; readonly failure: Failure }

export class HostCaller {
  readonly #options: HostCallerOptions
  readonly #pool = new ConnectionPool()
  /** Addresses that did not answer in time, and until when they are passed over. */
  readonly #silent = new Map<string, { untilMs: number; trouble: Trouble }>()

  constructor(options: HostCallerOptions) {
    this.#options = options
  }

  /** `places` in the order to try, one at least. */
  async carry(places: readonly Place[], mail: OutgoingMail, signal: AbortSignal): Promise<Carried> {
    const troubles: Trouble[] = []
    let last: Carried = { host: null, tls: null, outcomes: [] }
    for (const place of places) {
      const carried = await this.#carryTo(place, mail, signal)
      last = carried
      const trouble = troubleOf(carried.outcomes)
      if (trouble === null || signal.aborted) return carried
      troubles.push(trouble)
    }
    return { ...last, outcomes: mail.recipients.map(() => outcomeOf(troubles)) }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #carryTo(place: Place, mail: OutgoingMail, signal: AbortSignal): Promise<Carried> {
    const key = keyOf(place)
    for (let client = this.#pool.take(key); client !== null; client = this.#pool.take(key)) {
      const carried = await this.#send(place, client, mail, signal)
      // It may have been closed while it was idle, which says nothing about the host.
      if (signal.aborted || troubleOf(carried.outcomes) === null) return carried
    }
    const opened = await this.#open(place, signal)
    if (!('client' in opened)) {
      const outcome: RecipientOutcome = { kind: 'unsent', ...opened }
      return { host: place.host, tls: null, outcomes: mail.recipients.map(() => outcome) }
    }
    return this.#send(place, opened.client, mail, signal)
  }

  async #send(
    place: Place,
    client: SmtpClient,
    mail: OutgoingMail,
    signal: AbortSignal,
  ): Promise<Carried> {
    const cut = () => client.destroy()
    signal.addEventListener('abort', cut, { once: true })
    try {
      const outcomes = await client.send(mail)
      return { host: place.host, tls: client.tls, outcomes }
    } finally {
      signal.removeEventListener('abort', cut)
      this.#pool.put(keyOf(place), client)
    }
  }

  async #open(place: Place, signal: AbortSignal): Promise<{ client: SmtpClient } | Trouble> {
    const silent = this.#silent.get(place.address)
    if (silent !== undefined && this.#options.clock.monotonic() < silent.untilMs) {
      return silent.trouble
    }
    const { host: _, ...target } = place
    const options = { ...target, ...this.#options, servername: place.host, signal }
    let opened = await openSmtpClient(options)
    if (opened.kind === 'failed' && opened.stage === 'tls' && place.tls.kind === 'opportunistic') {
      // RFC 7435: in the clear rather than not at all, where nobody promised more.
      if (place.implicitTls !== true) {
        opened = await openSmtpClient({ ...options, tls: { kind: 'none' } })
      }
    }
    if (opened.kind === 'open') {
      this.#silent.delete(place.address)
      return { client: opened.client }
    }
    const trouble = { stage: opened.stage, failure: opened.failure }
    if (opened.failure.kind === 'timeout') this.#noteSilence(place.address, trouble)
    return trouble
  }

  /** Else every message for a host that is gone would wait for it as long as the first. */
  #noteSilence(address: string, trouble: Trouble): void {
    this.#silent.delete(address)
    const [oldest] = this.#silent.size < SILENT_HOSTS_MAX ? [] : this.#silent.keys()
    if (oldest !== undefined) this.#silent.delete(oldest)
    this.#silent.set(address, {
      untilMs: this.#options.clock.monotonic() + SILENT_HOST_MS,
      trouble,
    })
  }
}

function keyOf({ host, address, port, tls }: Place): string {
  return `${address} ${port} ${host} ${tls.kind}`
}

/**
 * What is wrong with the host, when that is why nothing came of it: the connection failed, or the
 * server is closing (421). Other answers are answers, which another host would only repeat.
 */
function troubleOf(outcomes: readonly Carried['outcomes'][number][]): Trouble | null {
  let found: Trouble | null = null
  for (const outcome of outcomes) {
    if (outcome.kind === 'unsent') {
      found ??= { stage: outcome.stage, failure: outcome.failure }
    } else if (outcome.kind === 'refused' && outcome.reply.code === 421) {
      found ??= { stage: outcome.stage, failure: { kind: 'reply', reply: outcome.reply } }
    } else {
      return null
    }
  }
  return found
}

/** The last trouble tells; a refusal for good counts as one only when every host said so. */
function outcomeOf(troubles: readonly Trouble[]): RecipientOutcome {
  const last = troubles.at(-1)
  if (last === undefined) throw new Error('There was no host to try.')
  const isRefused = troubles.every(({ failure }) => isPermanent(failure))
  return isRefused && last.failure.kind === 'reply'
    ? { kind: 'refused', stage: last.stage, reply: last.failure.reply }
    : { kind: 'unsent', ...(troubles.find(({ failure }) => !isPermanent(failure)) ?? last) }
}

function isPermanent(failure: Failure): boolean {
  return failure.kind === 'reply' && failure.reply.code >= 500 && failure.reply.code <= 599
}
