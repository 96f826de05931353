import type { NewAccount } from '#accounts/accounts.ts'
import { type Addresses, type App, DRAIN_MS, openApp } from '#app/app.ts'
import type { Settings } from '#config/settings.ts'
import { type Health, openHealth } from '#operating/operating.ts'
import { systemClock } from '#platform/clock.ts'
import { type Log, type OpenedLog, openLog } from '#platform/log.ts'
import { openMetrics, silentMetrics } from '#platform/telemetry/metrics.ts'
import { CommandFailure, loadSettings } from './command.ts'

/** A signal to a process group arrives twice, once from npm, and must not be handled twice. */
const ONE_SIGNAL_MS = 1_000

/** Maximum time from the signal to the exit. The documentation promises ten seconds. */
const EXIT_MS_MAX = DRAIN_MS + 1_500

const SEAMS = { clock: systemClock, buildsConsole: true }

/** Exiting loses nothing: leases expire, and every acknowledged write is on disk. */
function exitInTime(log: Log, flush: () => void, code: number): void {
  const exit = () => {
    log.warn({}, 'stopped before all work had finished')
    flush()
    process.exit(code)
  }
  setTimeout(exit, EXIT_MS_MAX).unref()
}

/**
 * Serves until SIGTERM or SIGINT, drains, and exits 0. A second signal exits at once with 1. SIGHUP
 * reloads the certificate. If a newer program has made the database incompatible, the service
 * drains and exits with 1.
 */
export async function serve(): Promise<void> {
  const { settings, warnings } = loadSettings()
  const { log, flush } = await openLog({
    level: settings.logLevel,
    isTerminal: process.stdout.isTTY === true,
    secrets: secretsOf(settings),
  })
  for (const warning of warnings) log.warn({}, warning)
  const metrics =
    settings.adminToken === null ? silentMetrics : await openMetrics({ includesProcess: true })

  let app: App | null = null
  let health: Health | null = null
  const { end, isEnding } = endingOnce({ log, flush }, async () => {
    await app?.close()
    await health?.close()
  })
  process.on('SIGTERM', (signal) => void end(signal))
  process.on('SIGINT', (signal) => void end(signal))
  // The supervisor restarts the old program, which exits again until the newer one replaces it.
  const onOutdated = (text: string) => {
    log.error({ reason: text }, 'a newer program has changed the database')
    void end('schema', 1)
  }
  // SIGHUP from a closing terminal means shut down. Otherwise, it reloads the certificate.
  process.on('SIGHUP', (signal) => {
    if (process.stdout.isTTY === true) void end(signal)
    else void app?.reloadCertificate()
  })
  // After an uncaught error the state is unknown, so the supervisor must restart the program.
  const fail = (error: unknown) => {
    log.error({ error }, 'the service stopped because of an internal error')
    flush()
    process.exit(1)
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)

  let isKeyShown = false
  const announceFirstAccount = (made: NewAccount, addresses: Addresses) => {
    if (settings.bootstrapApiKey !== null) return
    process.stdout.write(describeFirstStart({ token: made.token, addresses, settings }))
    isKeyShown = true
  }
  try {
    app = await openApp(settings, { ...SEAMS, log, metrics, announceFirstAccount, onOutdated })
  } catch (error) {
    flush()
    throw explainListenError(error, settings)
  }
  if (isKeyShown && app.firstAccount === null) process.stdout.write(NOT_THE_FIRST)
  // Elsewhere, every line of the output is JSON, and the addresses are in the line of the log.
  if (!isKeyShown && process.stdout.isTTY === true) process.stdout.write(describeStart(app))
  const { findObstacle } = app
  health = await openHealth({ dataDir: settings.dataDir, findObstacle, log })
  if (!isEnding()) logReady(log, app, settings)
}

function logReady(log: Log, app: App, settings: Settings): void {
  log.info(
    {
      database: app.database,
      http: app.http?.address ?? null,
      console: app.http === null ? null : consoleUrl(app.publicUrl),
      smtp: app.smtp === null ? null : `${app.smtp.host}:${app.smtp.port}`,
      inboxDomain: settings.inboxDomain,
      delivery: settings.delivery,
      dataDir: settings.dataDir,
    },
    'Mailroom is ready',
  )
}

type Ending = {
  /** Drains and exits with the code. A second call exits at once with 1. */
  end(reason: string, code?: number): Promise<void>
  isEnding(): boolean
}

function endingOnce({ log, flush }: OpenedLog, close: () => Promise<void>): Ending {
  let isEnding = false
  let endingSinceMs = 0
  return {
    isEnding: () => isEnding,
    async end(signal, code = 0) {
      const nowMs = systemClock.monotonic()
      if (isEnding && nowMs - endingSinceMs > ONE_SIGNAL_MS) process.exit(1)
      if (isEnding) return
      isEnding = true
      endingSinceMs = nowMs
      log.info({ signal }, 'shutting down')
      exitInTime(log, flush, code)
      try {
        await close()
        log.info({}, 'stopped')
        flush()
        process.exit(code)
      } catch (error) {
        log.error({ error }, 'the shutdown failed')
        flush()
        process.exit(1)
      }
    },
  }
}

/** Printed just before the account is committed, so that a crash never hides the first key. */
function describeFirstStart({
  token,
  addresses: { publicUrl, smtp },
  settings,
}: {
  token: string
  addresses: Addresses
  settings: Settings
}): string {
  return [
    ...describeAddresses({ publicUrl, smtp }),
    `  API key  ${token}`,
    '           Shown only once. It signs you in to the console too.',
    '',
    settings.delivery === 'sandbox'
      ? '  Sandbox: nothing leaves this machine.'
      : `  Delivery: ${settings.delivery}. Mail to other domains leaves this machine.`,
    '',
    '  Create an inbox:',
    '',
    `    curl -s ${publicUrl}/v1/inboxes -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"mailboxName":"hello"}'`,
    '',
    '',
  ].join('\n')
}

/** Printed on a terminal by every start but the first. */
function describeStart({ http, smtp, publicUrl }: App): string {
  const smtpAddress = smtp && `${smtp.host}:${smtp.port}`
  return [
    ...describeAddresses({ publicUrl: http && publicUrl, smtp: smtpAddress }),
    '  The first start printed an API key. If it is lost, create another one:',
    '',
    '    mailroom admin account list',
    '    mailroom admin key create --account ID',
    '',
    '',
  ].join('\n')
}

function describeAddresses({
  publicUrl,
  smtp,
}: {
  publicUrl: string | null
  smtp: string | null
}): string[] {
  const web =
    publicUrl === null ? [] : [`  API      ${publicUrl}`, `  Console  ${consoleUrl(publicUrl)}`]
  const mail = smtp === null ? [] : [`  SMTP     ${smtp}`]
  return ['', '  Mailroom is ready.', '', ...web, ...mail, '']
}

function consoleUrl(publicUrl: string): string {
  return `${publicUrl}/console/`
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop the other program, or choose another port with',
  EADDRNOTAVAIL: 'is not an address of this machine. Correct',
  EACCES: 'may not be used by this user. Choose another port with',
}

/** Names the setting for an address on which the service could not listen. */
function explainListenError(error: unknown, settings: Settings): unknown {
  if (!(error instanceof Error && 'code' in error && 'port' in error && 'address' in error)) {
    return error
  }
  const reason = LISTEN_ERRORS[String(error.code)]
  const { httpPort, smtpPort, metricsPort } = settings
  const ports = Object.entries({ HTTP: httpPort, SMTP: smtpPort, METRICS: metricsPort })
  const name = ports.find(([, port]) => port === error.port)?.[0]
  if (reason === undefined || name === undefined) return error
  const part = error.code === 'EADDRNOTAVAIL' ? 'HOST' : 'PORT'
  return new CommandFailure(`${error.address}:${error.port} ${reason} MAILROOM_${name}_${part}.`)
}

const NOT_THE_FIRST =
  '  Another process created the first account at the same time and prints its key. The key above is not valid.\n\n'

function secretsOf(settings: Settings): string[] {
  const { blobStore } = settings
  const s3 = typeof blobStore === 'string' ? null : blobStore.secretAccessKey
  const secrets = [settings.adminToken, settings.bootstrapApiKey, settings.databaseUrl, s3]
  return [...secrets, settings.relayUrl, settings.secretKey].filter((secret) => secret !== null)
}
