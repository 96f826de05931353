// Signals between processes that share a PostgreSQL database: LISTEN and NOTIFY on a connection of
// their own. NOTIFY makes commits wait for each other, so it is never part of a write, and signals
// that come fast are one.

import pg from 'pg'
import { SECOND_MS } from '#platform/units.ts'
import type { Signals } from './signals.ts'

/** Characters of one: a name and what it is about. Past it, it is not sent. */
const SIGNAL_TEXT_LENGTH_MAX = 500
/** Octets of those that go together; a message of NOTIFY has fewer than 8,000, and names its sender. */
const SIGNAL_BYTES_MAX = 7_000
/** Those that wait; past it they are lost. */
const SIGNALS_WAITING_MAX = 10_000
/** Between two signals of a process to the others that there are events. */
const EVENT_SIGNAL_GAP_MS = 20
/** Between tries to listen to the others again. */
const EVENT_SIGNAL_RETRY_MS = SECOND_MS

export type PostgresSignalsOptions = {
  url: string
  /** Names this process among the others: it does not hear itself. */
  sender: string
  onError(error: Error): void
}

const CHANNEL = 'mailroom_events'
const WORDS_CHANNEL = 'mailroom_words'
const CONNECT_MS_MAX = 2_000
/**
 * A signal may be lost: that it is on disk is worth no wait. For this statement alone, since behind a
 * pooler the next one of the connection may be anybody's.
 */
const NOTIFY = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"

/**
 * Connects in the background, and again whenever the connection is lost; until then only listeners of
 * this process hear a signal. After each connecting they run once, for what they may have missed.
 */
export function openPostgresSignals(options: PostgresSignalsOptions): Signals {
  return new PostgresSignals(options)
}

class PostgresSignals implements Signals {
  readonly #options: PostgresSignalsOptions
  readonly #listeners: (() => void)[] = []
  #client: pg.Client | null = null
  #connecting: Promise<void> | null = null
  #isClosed = false
  readonly #hearing = new Map<string, (text: string) => void>()
  #words: Word[] = []
  #sending: Promise<void> | null = null
  #isSaying = false
  #isToSend = false
  #pause: NodeJS.Timeout | null = null
  #retry: NodeJS.Timeout | null = null

  constructor(options: PostgresSignalsOptions) {
    this.#options = options
    this.#connecting = this.#connect()
  }

  tell(): void {
    this.#run()
    this.#isToSend = true
    if (this.#pause === null) this.#send()
  }

  listen(run: () => void): void {
    this.#listeners.push(run)
  }

  say(topic: string, text: string): void {
    if (text.length > SIGNAL_TEXT_LENGTH_MAX || this.#words.length >= SIGNALS_WAITING_MAX) return
    this.#words.push([topic, text])
    if (!this.#isSaying) void this.#sayAll()
  }

  hear(topic: string, run: (text: string) => void): void {
    this.#hearing.set(topic, run)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of [this.#pause, this.#retry]) if (timer !== null) clearTimeout(timer)
    await this.#connecting
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => {})
  }

  #run(): void {
    for (const run of this.#listeners) run()
  }

  /** Many words go in one message; what cannot be sent is forgotten. */
  async #sayAll(): Promise<void> {
    this.#isSaying = true
    while (this.#words.length > 0) {
      // What is said in the same turn goes together.
      await null
      const words = takeMessage(this.#words)
      await this.#notify(WORDS_CHANNEL, JSON.stringify([this.#options.sender, words]))
    }
    this.#isSaying = false
  }

  /** One after the other, for a connection runs one statement at a time. */
  #notify(channel: string, payload: string): Promise<void> {
    const client = this.#client
    if (this.#isClosed || client === null) return Promise.resolve()
    const send = () => client.query(NOTIFY, [channel, payload])
    const sent = (this.#sending === null ? send() : this.#sending.then(send)).then(
      () => {},
      (error) => this.#lose(error, client),
    )
    this.#sending = sent
    return sent.then(() => {
      if (this.#sending === sent) this.#sending = null
    })
  }

  #hear(message: string): void {
    const [sender, words] = readMessage(message)
    if (sender === this.#options.sender) return
    for (const [topic, text] of words) this.#hearing.get(topic)?.(text)
  }

  /** What cannot be sent is forgotten: readers look by themselves now and then. */
  #send(): void {
    this.#isToSend = false
    if (this.#isClosed || this.#client === null) return
    void this.#notify(CHANNEL, this.#options.sender)
    this.#pause = setTimeout(() => {
      this.#pause = null
      if (this.#isToSend) this.#send()
    }, EVENT_SIGNAL_GAP_MS)
    this.#pause.unref()
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: CONNECT_MS_MAX,
      keepAlive: true,
      application_name: 'mailroom signals',
    })
    client.on('error', (error) => this.#lose(error, client))
    client.on('end', () => this.#lose(null, client))
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === WORDS_CHANNEL) this.#hear(payload)
      else if (payload !== this.#options.sender) this.#run()
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}; listen ${WORDS_CHANNEL}`)
    } catch (error) {
      client.end().catch(() => {})
      this.#tryAgain(error as Error)
      return
    }
    this.#client = client
    // What an earlier connection is late to say is not waited for.
    this.#sending = null
    if (!this.#isClosed) this.#run()
  }

  #lose(error: Error | null, client: pg.Client): void {
    if (client !== this.#client) return
    this.#client = null
    client.end().catch(() => {})
    this.#tryAgain(error)
  }

  #tryAgain(error: Error | null): void {
    if (this.#isClosed) return
    if (error !== null) this.#options.onError(error)
    this.#retry = setTimeout(() => {
      this.#connecting = this.#connect()
    }, EVENT_SIGNAL_RETRY_MS)
    this.#retry.unref()
  }
}

type Word = [topic: string, text: string]

/** Whoever reaches the database can send anything; what is none of ours says nothing. */
function readMessage(message: string): [sender: string, words: Word[]] {
  try {
    const [sender, words] = JSON.parse(message)
    const isWord = (word: unknown): word is Word =>
      Array.isArray(word) && word.length === 2 && word.every((part) => typeof part === 'string')
    return [String(sender), words.filter(isWord)]
  } catch {
    return ['', []]
  }
}

/** As many as a message of NOTIFY, which may have 8,000 octets, holds. */
function takeMessage(words: Word[]): Word[] {
  let bytes = 0
  let count = 0
  for (const word of words) {
    bytes += Buffer.byteLength(JSON.stringify(word)) + 1
    if (bytes > SIGNAL_BYTES_MAX) break
    count += 1
  }
  return words.splice(0, Math.max(1, count))
}
