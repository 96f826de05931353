import type { SecureContext } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { PortCounts } from '@mailroom/smtp/server/port-counts.ts'
import type { FromIntakeThread, IntakeThreadData, ToIntakeThread } from '#inbound/intake/intake.ts'
import { systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { openOwnSignals } from '#platform/db/db.ts'
import { describeError, type Log, type LogFields } from '#platform/log.ts'
import { openAll } from '#platform/open-all.ts'
import { type MetricCall, recordMetrics } from '#platform/telemetry/metrics.ts'
import { makeServerTls } from '#platform/tls/server-tls.ts'
import { openKeys } from '#secrets/secrets.ts'
import { openThreadStore } from './open-store.ts'
import { openMailServer, openReceivingParts } from './receiving-parts.ts'

if (parentPort === null) throw new Error('This module is started as a worker thread.')
const port = parentPort
/** Metrics of this thread may be outdated by this much. */
const FIGURES_MS = 250

const post = (message: FromIntakeThread) => port.postMessage(message)

const logAt =
  (level: keyof Log): Log['info'] =>
  ({ error, ...fields }, text) =>
    post({ kind: 'log', level, line: [toPlain({ ...fields, error: describeError(error) }), text] })
const log: Log = {
  debug: logAt('debug'),
  info: logAt('info'),
  warn: logAt('warn'),
  error: logAt('error'),
}

/** Structured cloning would lose an error's class and code. */
function toPlain(fields: LogFields): LogFields {
  try {
    return JSON.parse(JSON.stringify(fields))
  } catch {
    return { error: String(fields.error) }
  }
}

const signals = openOwnSignals()
let isWakeDue = false
// Sends one wake-up for all messages of an iteration of the event loop.
signals.listen(() => {
  if (isWakeDue) return
  isWakeDue = true
  setImmediate(() => {
    isWakeDue = false
    post({ kind: 'wake' })
  })
})

const given = Promise.withResolvers<IntakeThreadData>()
const started = Promise.withResolvers<void>()
let tls: SecureContext | null = null
let calls: MetricCall[] = []

port.on('message', (message: ToIntakeThread) => {
  switch (message.kind) {
    case 'open':
      tls = makeServerTls(message.data.certificate)
      given.resolve(message.data)
      break
    case 'started':
      started.resolve()
      break
    case 'certificate':
      tls = makeServerTls(message.certificate)
      break
    case 'close':
      void running.then((opened) => close(opened, message.drainMs))
  }
})

const running = openAll(async (opened) => {
  const { settings, counts, ...data } = await given.promise
  const metrics = recordMetrics((call) => void calls.push(call))
  const store = await openThreadStore({
    ...{ ...data, settings, signals, threads: settings.intakeThreads },
    observer: { committed: (size, durationMs) => metrics.observeCommit({ size, durationMs }) },
    onError: (error) => log.warn({ error }, 'a database connection was lost'),
  })
  opened.defer(() => store.close())
  const { deriveKey } = await openKeys({ settings, db: store.db, chance: systemChance })
  const seams = { log, clock: systemClock, chance: systemChance, metrics, store }
  const parts = await openReceivingParts(settings, seams, opened)
  const server = await openMailServer(parts, settings, {
    ...{ metrics, deriveKey, started: started.promise },
    tls: () => tls as SecureContext,
    counts: new PortCounts(counts, workerData),
  })
  postFigures(parts)
  const timer = setInterval(() => postFigures(parts), FIGURES_MS)
  opened.defer(() => clearInterval(timer))
  post({ kind: 'listening', address: server.address })
  return { server, parts, opened }
})
type Running = Awaited<typeof running>
await running

function postFigures({ base, parserPool }: Running['parts']): void {
  const { storePressure, db } = base
  const { waiting, oldestMs } = storePressure.load()
  const load = {
    ...{ waiting, oldestMs, isStrained: storePressure.isStrained() },
    parserQueue: parserPool.waiting(),
    connections: db.connections?.() ?? null,
  }
  post({ kind: 'figures', calls, load })
  calls = []
}

async function close({ server, parts, opened }: Running, drainMs: number): Promise<void> {
  await server.close({ drainMs })
  postFigures(parts)
  await opened.disposeAsync()
  port.close()
}
