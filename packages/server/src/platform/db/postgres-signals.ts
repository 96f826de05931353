// Signals between processes that share a PostgreSQL database: LISTEN and NOTIFY on a connection of
// their own. NOTIFY makes commits wait for each other, so it is never part of a write, and signals
// that come fast are one.

import pg from 'pg'
import { SECOND_MS } from '#platform/units.ts'
import type { Signals } from './db.ts'

/** Between two signals of a process to the others that there are events. */
const EVENT_SIGNAL_GAP_MS = 20
/** Between tries to listen to the others again. */
const EVENT_SIGNAL_RETRY_MS = SECOND_MS

type PostgresSignalsOptions = {
  url: string
  /** Names this process among the others: it does not hear itself. */
  sender: string
  onError(error: Error): void
}

const CHANNEL = 'mailroom_events'
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
  #isToSend = false
  #sending: Promise<void> | null = null
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

  /** What cannot be sent is forgotten: readers look by themselves now and then. */
  #send(): void {
    this.#isToSend = false
    if (this.#isClosed || this.#client === null) return
    void this.#notify(this.#client)
    this.#pause = setTimeout(() => {
      this.#pause = null
      if (this.#isToSend) this.#send()
    }, EVENT_SIGNAL_GAP_MS)
    this.#pause.unref()
  }

  /** One after the other, for a connection runs one statement at a time. */
  async #notify(client: pg.Client): Promise<void> {
    const send = () => client.query(NOTIFY, [CHANNEL, this.#options.sender])
    const sent = (this.#sending === null ? send() : this.#sending.then(send)).then(
      () => {},
      (error) => this.#lose(error, client),
    )
    this.#sending = sent
    await sent
    if (this.#sending === sent) this.#sending = null
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
    client.on('notification', ({ payload = '' }) => {
      if (payload !== this.#options.sender) this.#run()
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
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
