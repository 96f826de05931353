// The service as an operator runs it: a process with its own data directory, which a test stops, kills and starts again.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Event, Mailroom } from '@mailroom/sdk'
import { readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { findFreePorts } from '#test/peers/free-port.ts'
import { openSender, type Sender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { type CommandEnd, sharedCommands } from '#test/scenarios/command-host.ts'
import { guard, type LiftGuard } from './guard.ts'

export const SERVICE_KEY = 'mr_KeyOfTheFirstAccountInCrashTests00000000'

const MAIN = fileURLToPath(import.meta.resolve('#main.mjs'))
/** Flags of the runtime in `npm start`. */
const START_FLAGS = readStartFlags()
/** A start takes a second; a busy machine has taken more than twenty. */
const READY_MS_MAX = 90_000
/** A request costs a millisecond of processor time, and a start takes many hundreds. */
const READY_POLL_MS = 25
const LOG_LENGTH_MAX = 200_000
const UNREADABLE_POLL_MS = 5
export const INTERNAL_ERRORS = /"status":500|because of an internal error|"level":50/

export type Exit = { code: number | null; signal: NodeJS.Signals | null; durationMs: number }

export type ServiceOptions = {
  /** PostgreSQL instead of the embedded database. */
  databaseUrl?: string | undefined
  /** Made when absent, and removed by `close` only then. */
  dataDir?: string
  env?: Record<string, string>
  /** Gives it no certificate, so that its first start makes one. */
  makesCertificate?: boolean
  /** Wraps the command line, for instance into a shell with other limits. */
  wrap?: (command: readonly string[]) => string[]
  /** Working directory; a folder without `.env` when absent. */
  folder?: string
}

export type StartOptions = { waits?: boolean }

export type SignalOptions = { to?: 'process' | 'group' }

/** One service over all its processes (lives): ports, data directory and key stay the same. */
export class Service {
  readonly dataDir: string
  readonly httpPort: number
  readonly smtpPort: number
  readonly #options: ServiceOptions
  readonly #home: string
  #child: ChildProcess | null = null
  #ended: Promise<Exit> | null = null
  #liftGuard: LiftGuard = () => {}
  #log = ''

  private constructor(options: ServiceOptions, home: string, ports: number[]) {
    this.#options = options
    this.#home = home
    this.dataDir = options.dataDir ?? join(home, 'data')
    const [httpPort = 0, smtpPort = 0] = ports
    this.httpPort = httpPort
    this.smtpPort = smtpPort
  }

  /** Chooses ports and a data directory; starts nothing. */
  static async prepare(options: ServiceOptions = {}): Promise<Service> {
    const home = await mkdtemp(join(tmpdir(), 'mailroom-crash-'))
    return new Service(options, home, await findFreePorts(2))
  }

  /** A service that is ready. */
  static async start(options: ServiceOptions = {}): Promise<Service> {
    const service = await Service.prepare(options)
    try {
      await service.start()
      return service
    } catch (error) {
      await service.close()
      throw error
    }
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.httpPort}`
  }

  get environment(): Record<string, string> {
    const { PATH = '', HOME = '' } = process.env
    return {
      PATH,
      HOME,
      MAILROOM_DATA_DIR: this.dataDir,
      MAILROOM_HTTP_PORT: String(this.httpPort),
      MAILROOM_SMTP_PORT: String(this.smtpPort),
      MAILROOM_BOOTSTRAP_API_KEY: SERVICE_KEY,
      MAILROOM_LIMIT_API_PER_MINUTE: '1000000',
      // Refuses at once: no test uses the machine's DNS.
      MAILROOM_DNS_SERVERS: '127.0.0.1:9',
      // As in `npm start`.
      MALLOC_ARENA_MAX: '2',
      ...(this.#options.makesCertificate ? {} : certificateSettings()),
      ...(this.#options.databaseUrl && { MAILROOM_DATABASE_URL: this.#options.databaseUrl }),
      ...this.#options.env,
    }
  }

  get settings(): Settings {
    const reading = readSettings(this.environment)
    if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
    return reading.settings
  }

  /** Has the key of the first account, and repeats no request. */
  get client(): Mailroom {
    return this.clientWith(SERVICE_KEY)
  }

  clientWith(apiKey: string): Mailroom {
    return new Mailroom({ baseUrl: this.baseUrl, apiKey, maxRetries: 0 })
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('The service is not running.')
    return pid
  }

  get isRunning(): boolean {
    return this.#child !== null
  }

  /** The end of standard output and error of all lives. */
  get log(): string {
    return this.#log
  }

  /** How the present or last life ends or ended. */
  get ended(): Promise<Exit> {
    if (this.#ended === null) throw new Error('The service was never started.')
    return this.#ended
  }

  /** Starts a life and, unless told otherwise, waits for /ready. Returns milliseconds until then. */
  async start({ waits = true }: StartOptions = {}): Promise<number> {
    if (this.#child !== null) throw new Error('The service is running.')
    const startMs = performance.now()
    const command = [process.execPath, ...START_FLAGS, MAIN, 'serve']
    const [file = '', ...args] = this.#options.wrap?.(command) ?? command
    // The checkout may have an `.env`, which would count.
    const child = spawn(file, args, {
      cwd: this.#options.folder ?? this.#home,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Signals to its own group reach what the command starts, and nothing else.
      detached: true,
    })
    this.#child = child
    if (child.pid !== undefined) {
      const script = 'kill -KILL "-$1"; sleep 1; rm -rf "$2"'
      this.#liftGuard = guard(script, String(child.pid), this.#home)
    }
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-LOG_LENGTH_MAX)
      })
    }
    this.#ended = (async () => {
      const [code, signal] = await once(child, 'close')
      this.#liftGuard()
      this.#child = null
      return { code, signal, durationMs: performance.now() - startMs }
    })()
    this.#ended.catch(() => {})
    if (waits) await this.untilReady()
    return performance.now() - startMs
  }

  /** Resolves when /ready answers 200. */
  async untilReady(withinMs = READY_MS_MAX): Promise<number> {
    const startMs = performance.now()
    while (!(await isReady(this.httpPort))) {
      if (this.#child === null) throw new Error(`The service ended while starting:\n${this.#log}`)
      const waitedMs = performance.now() - startMs
      if (waitedMs > withinMs) throw new Error(`Not ready after ${waitedMs} ms:\n${this.#log}`)
      await sleep(READY_POLL_MS)
    }
    return performance.now() - startMs
  }

  signal(signal: NodeJS.Signals, { to = 'process' }: SignalOptions = {}): void {
    if (to === 'group') process.kill(-this.pid, signal)
    else this.#child?.kill(signal)
  }

  /** Sends the signal and waits for the end; the time counts from the signal. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', options?: SignalOptions): Promise<Exit> {
    const startMs = performance.now()
    this.signal(signal, options)
    const exit = await this.ended
    return { ...exit, durationMs: performance.now() - startMs }
  }

  /** Stops it. The exit code must be 0, and no life may have had an internal error. */
  async stopWell(): Promise<void> {
    assert.doesNotMatch(this.#log, INTERNAL_ERRORS)
    assert.equal((await this.stop()).code, 0)
  }

  /** `kill -9`, also of a process that is still starting. */
  async kill(): Promise<void> {
    if (this.#child !== null) await this.stop('SIGKILL', { to: 'group' })
  }

  /** A connected SMTP client. */
  sender(): Promise<Sender> {
    return openSender(this.smtpPort)
  }

  /**
   * All events that are committed now. PostgreSQL shows an event once every older transaction of the server has ended,
   * those of other tests too.
   */
  async listEvents(): Promise<Event[]> {
    if (this.#options.databaseUrl !== undefined) {
      const unreadable = `select 1 from events
        where transaction_id >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint limit 1`
      while ((await runSql(this, unreadable)).length > 0) await sleep(UNREADABLE_POLL_MS)
    }
    const events: Event[] = []
    for await (const event of this.client.events.list({ limit: 100 })) events.push(event)
    return events
  }

  /** Runs a command that ends by itself beside the service, on the same settings. */
  command(...args: string[]): Promise<CommandEnd> {
    return sharedCommands.run({ args, env: this.environment })
  }

  /** The same in a process of its own. */
  async run(...args: string[]): Promise<{ code: number | null; output: string; errors: string }> {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: this.#home,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    const [code] = await once(child, 'close')
    return { code, output, errors }
  }

  /** Kills it and removes its files. */
  async close(): Promise<void> {
    await this.kill()
    await rm(this.#home, { recursive: true, force: true })
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    // Without a pool: a connection to a process that was killed must not be tried again.
    const request = get({ host: '127.0.0.1', port, path: '/ready', agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode === 200))
      response.on('error', () => resolve(false))
    })
    request.setTimeout(5_000, () => request.destroy())
    request.on('error', () => resolve(false))
  })
}

function readStartFlags(): string[] {
  const manifest = new URL('../../../../package.json', import.meta.url)
  const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts: { start: string } }
  return scripts.start.match(/--\S+/g) ?? []
}
