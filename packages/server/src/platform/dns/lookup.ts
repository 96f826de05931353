// One question to servers in turn, in tries that grow: a lost packet is made up for soon, and a server
// that has to ask around is still waited for. An answer to any of the tries counts.

import type { Chance } from '#platform/chance.ts'
import {
  type Answer,
  type Question,
  type QuestionType,
  type RecordOf,
  readAnswer,
} from './answer.ts'
import { askServer, type ServerReply } from './ask-server.ts'
import type { ServerAddress } from './server-address.ts'

/** Until a question is asked anew; each further round of the servers waits twice as long as the one before. */
const DNS_FIRST_TRY_MS = 400

export type LookupOptions = {
  readonly servers: readonly ServerAddress[]
  /** The index of the server that is asked first. */
  readonly first: number
  /** Of all tries together. */
  readonly wholeMs: number
  readonly chance: Chance
  /** Ends it at once. */
  readonly signal: AbortSignal
  isBelieved(server: ServerAddress): boolean
}

export type Outcome<Record> =
  | {
      readonly kind: 'answer'
      readonly answer: Exclude<Answer<Record>, { kind: 'fault' }>
      /** The index of the server whose answer it is. */
      readonly by: number
    }
  | { readonly kind: 'fault'; readonly text: string }
  | { readonly kind: 'silent' }

/** Never rejects. A fault for which every server was asked is the last one's. */
export function lookUp<Type extends QuestionType>(
  question: Question<Type>,
  options: LookupOptions,
): Promise<Outcome<RecordOf[Type]>> {
  return new Promise((resolve) => new Lookup(question, options, resolve).begin())
}

class Lookup<Type extends QuestionType> {
  readonly #question: Question<Type>
  readonly #options: LookupOptions
  readonly #resolve: (outcome: Outcome<RecordOf[Type]>) => void
  /** Asked again at once they would say the same. */
  readonly #hopeless = new Set<number>()
  readonly #ending = new AbortController()
  readonly #timers: NodeJS.Timeout[] = []
  #trying: NodeJS.Timeout | undefined
  #next: number
  #current = 0
  #attempts = 0
  #isHalfOver = false
  #fault: string | null = null

  constructor(
    question: Question<Type>,
    options: LookupOptions,
    resolve: (outcome: Outcome<RecordOf[Type]>) => void,
  ) {
    this.#question = question
    this.#options = options
    this.#resolve = resolve
    this.#next = options.first
  }

  begin(): void {
    const { signal, wholeMs } = this.#options
    if (signal.aborted) {
      this.#giveUp()
      return
    }
    signal.addEventListener('abort', this.#giveUp)
    this.#timers.push(
      setTimeout(this.#giveUp, wholeMs),
      setTimeout(() => {
        this.#isHalfOver = true
        if (this.#fault !== null) this.#giveUp()
      }, wholeMs / 2),
    )
    this.#ask()
  }

  #ask(): void {
    const { servers, wholeMs, chance } = this.#options
    clearTimeout(this.#trying)
    const index = this.#nextIndex()
    const server = index === null ? undefined : servers[index]
    if (index === null || server === undefined) {
      this.#giveUp()
      return
    }
    this.#current = index
    const round = Math.floor(this.#attempts / servers.length)
    this.#attempts += 1
    // The first round ends before half of the time has.
    const firstMs = Math.min(DNS_FIRST_TRY_MS, wholeMs / Math.max(4, 2 * servers.length))
    this.#trying = setTimeout(() => this.#ask(), firstMs * 2 ** round)
    void askServer(server, this.#question, {
      chance,
      timeoutMs: wholeMs,
      signal: this.#ending.signal,
    }).then((reply) => this.#hear(reply, index))
  }

  #nextIndex(): number | null {
    const { length } = this.#options.servers
    for (let step = 0; step < length; step++) {
      const index = (this.#next + step) % length
      if (this.#hopeless.has(index)) continue
      this.#next = (index + 1) % length
      return index
    }
    return null
  }

  #hear(reply: ServerReply, index: number): void {
    const server = this.#options.servers[index]
    if (this.#ending.signal.aborted || reply.kind === 'silent' || server === undefined) return
    if (reply.kind === 'packet') {
      const isBelieved = this.#options.isBelieved(server)
      const answer = readAnswer(reply.packet, this.#question, isBelieved)
      if (answer.kind !== 'fault') {
        this.#finish({ kind: 'answer', answer, by: index })
        return
      }
      this.#fault = answer.text
    } else {
      this.#fault = reply.text
    }
    this.#hopeless.add(index)
    // Of the servers, one has spoken: for the silent ones there is half of the time, no more.
    if (this.#isHalfOver) this.#giveUp()
    else if (index === this.#current) this.#ask()
  }

  readonly #giveUp = () => {
    const text = this.#fault
    this.#finish(text === null ? { kind: 'silent' } : { kind: 'fault', text })
  }

  #finish(outcome: Outcome<RecordOf[Type]>): void {
    for (const timer of [...this.#timers, this.#trying]) clearTimeout(timer)
    this.#options.signal.removeEventListener('abort', this.#giveUp)
    this.#ending.abort()
    this.#resolve(outcome)
  }
}
