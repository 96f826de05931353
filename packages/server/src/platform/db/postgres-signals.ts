// Notifications between processes by LISTEN and NOTIFY on a separate connection. NOTIFY serializes
// commits, so it is never part of a write, and frequent notifications are combined.

import pg from 'pg'
import { SECOND_MS } from '#platform/units.ts'
import type { Signals } from './db.ts'

const EVENT_SIGNAL_GAP_MS = 20
const EVENT_SIGNAL_RETRY_MS = SECOND_MS

type PostgresSignalsOptions = {
  url: string
  sender: string
  onError(error: Error): void
}

const CHANNEL = 'mailroom_events'
const CONNECT_MS_MAX = 2_000
/** Notifications need not wait for the disk. `true` limits the setting to this statement. */
const NOTIFY = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"

/** Reconnects when the connection is lost, and then notifies the listeners of this process. */
export function openPostgresSignals(options: PostgresSignalsOptions): Signals {
  return new PostgresSignals(options)
}

class PostgresSignals implements Signals {
  readonly #options: PostgresSignalsOptions
  readonly #listeners: (() => void)[] = []
  #client: pg.Client | null = null
  #connecting: Promise<void> | null = null
  #isClosed = false
  #isSendDue = false
  #sending: Promise<void> | null = null
  #pause: NodeJS.Timeout | null = null
  #retry: NodeJS.Timeout | null = null

  constructor(options: PostgresSignalsOptions) {
    this.#options = options
    this.#connecting = this.#connect()
  }

  notify(): void {
    this.#run()
    this.#isSendDue = true
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

  /** Drops a notification that cannot be sent, because readers also poll. */
  #send(): void {
    this.#isSendDue = false
    if (this.#isClosed || this.#client === null) return
    void this.#sendOn(this.#client)
    this.#pause = setTimeout(() => {
      this.#pause = null
      if (this.#isSendDue) this.#send()
    }, EVENT_SIGNAL_GAP_MS)
    this.#pause.unref()
  }

  /** A connection runs one statement at a time. */
  async #sendOn(client: pg.Client): Promise<void> {
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
