// The whole service for a test: on a real database, with real sockets, a clock that can be moved, and the SDK.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite } from 'node:test'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { isFullRun, isLongRun } from '@mailroom/mail/test/size-of.ts'
import { type Inbox, Mailroom } from '@mailroom/sdk'
import { type App, openApp } from '#app/app.ts'
import { databasePath } from '#app/open-store.ts'
import { readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Engine } from '#platform/db/db.ts'
import { type Log, silentLog } from '#platform/log.ts'
import { openMetrics } from '#platform/telemetry/metrics.ts'
import { DAY_MS } from '#platform/units.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { type Mail, openSender, type SmtpReply } from '#test/peers/sender.ts'
import { prepareSqlite } from '#test/peers/sqlite.ts'
import { release, share } from '#test/services.ts'

export const OPERATOR_TOKEN = 'operator-token-for-tests-0123456789'

/**
 * High limits for tests that create many inboxes and requests. A test of a limit sets its own, or an empty text for
 * the default of the program.
 */
export const WIDE_LIMITS = {
  MAILROOM_LIMIT_API_PER_MINUTE: '1000000',
  MAILROOM_LIMIT_INBOXES_PER_DAY: '100000',
  MAILROOM_LIMIT_SENDS_PER_MINUTE: '100000',
  MAILROOM_LIMIT_SENDS_PER_DAY: '100000',
  MAILROOM_LIMIT_COLD_PER_DAY: '100000',
  MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '100000',
}

/** The usual 30 s were not enough for the first file that a busy machine reads. */
const ANSWER_MS_MAX = 120_000

export type TestClock = Clock & {
  advance(ms: number): void
  /** Sets the wall clock, as an operator or NTP does; elapsed time does not change. */
  step(ms: number): void
}

export type Account = { id: string; key: string; client: Mailroom }

export type World = AsyncDisposable & {
  readonly app: App
  readonly clock: TestClock
  readonly baseUrl: string
  readonly smtpPort: number
  readonly dataDir: string
  readonly settings: Settings
  /** Id, token and client of the world's own account (plan launch). */
  readonly accountId: string
  readonly key: string
  readonly client: Mailroom
  /** A client without retries, so that tests see refusals. */
  clientWith(key: string): Mailroom
  newAccount(plan?: 'free' | 'developer' | 'launch'): Promise<Account>
  /** A new inbox of the own account, with a random name unless given. */
  inbox(mailboxName?: string): Promise<Inbox>
  /** Sends one message over one SMTP connection; returns the last reply. */
  send(mail: Mail): Promise<SmtpReply>
  /** A raw request, with the own account's key unless the headers say otherwise. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

export type WorldOptions = {
  env?: Record<string, string>
  log?: Log
  /** Replaces key generation; one shared key by default. */
  makeKey?: typeof makeDkimKey
  /** The folder of the built console; the package's own by default. */
  consoleFolder?: string
}

/** Runs the tests on both databases in every run: for promises of the store itself. */
export function onBothEngines(name: string, define: (engine: Engine) => void): void {
  for (const engine of ['sqlite', 'postgres'] as const) {
    suite(`${name} (${engine})`, () => define(engine))
  }
}

/** Runs on SQLite in a quick run, and on both databases in a full one: for tests that use the store. */
export function onEachEngine(name: string, define: (engine: Engine) => void): void {
  if (isFullRun()) onBothEngines(name, define)
  else suite(`${name} (sqlite)`, () => define('sqlite'))
}

/** For tests that do not depend on the database: on SQLite, and in a long run on both. */
export function onAnyEngine(name: string, define: (engine: Engine) => void): void {
  if (isLongRun()) onBothEngines(name, define)
  else suite(name, () => define('sqlite'))
}

/** Made before the tests of the suite or file; until then it has no fields. */
export function prepared<Made extends object>(make: () => Made | Promise<Made>): Made {
  const holder = {} as Made
  before(async () => standFor(holder, await make()))
  return holder
}

/**
 * Gives the holder the fields of what was made, and of its class, whose methods may need private ones. Without it each
 * suite would declare a variable, assign it in `before` and close it in `after`, in some 370 suites.
 */
function standFor(holder: object, made: object): void {
  let level: object | null = made
  while (level !== null && level !== Object.prototype) {
    const isOwn = level === made
    for (const key of Reflect.ownKeys(level)) {
      if (Object.hasOwn(holder, key)) continue
      Object.defineProperty(holder, key, {
        enumerable: isOwn && Object.prototype.propertyIsEnumerable.call(made, key),
        configurable: true,
        get() {
          const value = Reflect.get(made, key)
          return !isOwn && typeof value === 'function' ? value.bind(made) : value
        },
        set: (value) => Reflect.set(made, key, value),
      })
    }
    level = Object.getPrototypeOf(level)
  }
}

/** Opened before the tests of the suite or file, as by `prepared`, and closed after them. */
export function opened<Opened extends { close(): Promise<void> }>(
  open: () => Promise<Opened>,
): Opened {
  const holder = prepared(open)
  after(() => holder.close?.())
  return holder
}

/**
 * Starts a service of its own on free ports with an empty database; close it in `after`. It is for suites about a
 * setting, a restart or the whole log. Others open a tenant, which takes no time.
 */
export async function openWorld(engine: Engine, options: WorldOptions = {}): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const database =
    engine === 'postgres' ? { MAILROOM_DATABASE_URL: await createPreparedDatabase() } : {}
  const reading = readSettings({
    MAILROOM_DATA_DIR: dataDir,
    MAILROOM_HTTP_PORT: '0',
    MAILROOM_SMTP_PORT: '0',
    MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
    // Nothing listens on this port, so no test asks the machine's own DNS servers.
    MAILROOM_DNS_SERVERS: '127.0.0.1:9',
    // Else every test with an attachment would start a process, and find more events.
    MAILROOM_READ_ATTACHMENTS: 'false',
    ...WIDE_LIMITS,
    ...certificateSettings(),
    ...database,
    ...options.env,
  })
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  const clock = testClock()
  const metrics = await openMetrics({ includesProcess: false })
  const { settings } = reading
  if (engine === 'sqlite') await prepareSqlite(databasePath(settings))
  const log = options.log ?? silentLog
  const { makeKey = testKey, consoleFolder } = options
  const seams = { log, clock, metrics, makeKey, ...(consoleFolder && { consoleFolder }) }
  const app = await openApp(settings, seams)
  const { firstAccount, http, smtp } = app
  if (firstAccount === null || http === null || smtp === null) throw new Error('Not a new service.')
  const baseUrl = http.address
  const clientWith = (apiKey: string) =>
    new Mailroom({ baseUrl, apiKey, maxRetries: 0, timeoutMs: ANSWER_MS_MAX })
  const service = {
    ...{ app, clock, baseUrl, smtpPort: smtp.port, dataDir, settings, clientWith },
    async newAccount(plan = 'launch') {
      const made = await clientWith(OPERATOR_TOKEN).admin.accounts.create({ name: 'another', plan })
      const key = made.apiKey.token
      return { id: made.account.id, key, client: clientWith(key) }
    },
    async send(mail) {
      const sender = await openSender(smtp.port)
      try {
        return await sender.send(mail)
      } finally {
        await sender.quit()
      }
    },
    async close() {
      await app.close(1_000)
      await rm(dataDir, { recursive: true, force: true })
    },
    [Symbol.asyncDispose](this: { close(): Promise<void> }) {
      return this.close()
    },
  } satisfies Partial<World>
  const { account, token } = firstAccount
  return {
    ...service,
    ...ownedBy(service, { id: account.id, key: token, client: clientWith(token) }),
  }
}

/** The parts of a world that act for one account. */
function ownedBy({ baseUrl }: Pick<World, 'baseUrl'>, { id, key, client }: Account) {
  return {
    accountId: id,
    key,
    client,
    inbox: (mailboxName) => client.inboxes.create(mailboxName === undefined ? {} : { mailboxName }),
    fetch(path, init = {}) {
      const headers = { authorization: `Bearer ${key}`, ...init.headers }
      return fetch(`${baseUrl}${path}`, { ...init, headers })
    },
  } satisfies Partial<World>
}

/**
 * A new account of a service that all suites of the process with these settings share. Suites run one after the other,
 * so that a suite may move the clock; another finds it ahead. `close` leaves the service open for the next suite.
 */
export function openTenant(engine: Engine, env: Record<string, string> = {}): Promise<World> {
  return openTenantOf(`${engine} ${JSON.stringify(env)}`, () => openWorld(engine, { env }))
}

/** The same of a service that `open` opens for the first suite. */
export async function openTenantOf<Service extends World>(
  name: string,
  open: () => Promise<Service>,
): Promise<Service> {
  const service = await share(name, open)
  return { ...service, ...ownedBy(service, await service.newAccount()), close: release }
}

/** Another process on the PostgreSQL database of a service, with a data directory of its own. */
export async function openSecond(
  { settings, clock }: Pick<World, 'settings' | 'clock'>,
  changes: Partial<Settings> = {},
): Promise<App & AsyncDisposable> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  // The queue's clock is set by the database, which a test does not advance: without this it would be
  // behind that of the first process by the time that earlier suites advanced.
  const advancedMs = clock.steady() - systemClock.steady()
  let isOpening = true
  const steady = () => clock.steady() - (isOpening ? advancedMs : 0)
  const seams = { log: silentLog, clock: { ...clock, steady }, makeKey: testKey }
  const app = await openApp({ ...settings, dataDir, ...changes }, seams)
  isOpening = false
  const close = async (drainMs = 1_000) => {
    await app.close(drainMs)
    await rm(dataDir, { recursive: true, force: true })
  }
  return { ...app, close, [Symbol.asyncDispose]: close }
}

let signingKey: ReturnType<typeof makeDkimKey> | undefined

/**
 * Overrides methods of a part of the running service; `own` has the original ones. Returns a function that restores
 * them.
 */
export function changePart<Part extends object>(
  part: Part,
  change: (own: Part) => Partial<Part>,
): () => void {
  const own = { ...part }
  const changes = change(own)
  Object.assign(part, changes)
  return () => {
    // Methods of a class belong to its prototype, and an own property of the name would hide them.
    for (const key of Object.keys(changes)) Reflect.deleteProperty(part, key)
    Object.assign(part, own)
  }
}

/** The same for all services of a test file: making one takes up to half a second. */
export function testKey(): ReturnType<typeof makeDkimKey> {
  signingKey ??= makeDkimKey()
  return signingKey
}

/**
 * Real time plus the time by which it was advanced. Work that is repeated at an interval runs at once when the clock is
 * advanced by at least that interval.
 */
export function testClock(): TestClock {
  let aheadMs = 0
  let steppedMs = 0
  const repeated = new Set<{ ms: number; call(): void }>()
  return {
    now: () => Date.now() + aheadMs + steppedMs,
    monotonic: () => performance.now() + aheadMs,
    steady: () => Math.round(performance.timeOrigin + performance.now()) + aheadMs,
    every(ms, call) {
      const one = { ms, call }
      repeated.add(one)
      const stop = systemClock.every(ms, call)
      return () => {
        stop()
        repeated.delete(one)
      }
    },
    advance(ms) {
      aheadMs += ms
      for (const one of repeated) if (one.ms <= ms) one.call()
    },
    step(ms) {
      steppedMs += ms
    },
  }
}

/** Moves the clock to six o'clock of the next day (UTC), so that no day ends within a test. */
export function moveAwayFromMidnight(clock: TestClock): void {
  clock.advance(DAY_MS - (clock.now() % DAY_MS) + DAY_MS / 4)
}

/** A plain message, with the given header lines and body. */
export function plainMail(fields: {
  to?: string
  from?: string
  subject?: string
  messageId?: string
  headers?: string[]
  body?: string
}): string {
  return [
    `From: ${fields.from ?? 'Ann Sender <ann@sender.example>'}`,
    `To: ${fields.to ?? 'someone@mailroom.localhost'}`,
    `Subject: ${fields.subject ?? 'A subject'}`,
    ...(fields.messageId === undefined ? [] : [`Message-ID: ${fields.messageId}`]),
    'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    ...(fields.headers ?? []),
    '',
    fields.body ?? 'A body.',
    '',
  ].join('\r\n')
}
