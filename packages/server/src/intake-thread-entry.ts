// A thread that receives mail starts here.

import type { SecureContext } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { PortCounts } from '@mailroom/smtp/server/port-counts.ts'
import { openSmtpServer } from '@mailroom/smtp/server/server.ts'
import {
  type FromIntakeThread,
  type IntakeThreadData,
  type IntakeThreadIndex,
  makeReceiver,
  outcomeCounter,
  type ToIntakeThread,
} from '#inbound/inbound.ts'
import { systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import type { Signals } from '#platform/db/db.ts'
import { describeError, type Log, type LogFields } from '#platform/log.ts'
import { openAll } from '#platform/open-all.ts'
import { type MetricCall, recordMetrics, silentMetrics } from '#platform/telemetry/metrics.ts'
import { makeServerTls } from '#platform/tls/server-tls.ts'
import { openKeys } from '#secrets/secrets.ts'
import { openReceivingParts } from '#wiring/receiving-parts.ts'
import { openThreadStore } from '#wiring/store.ts'

if (parentPort === null) throw new Error('This module is started as a worker thread.')
const port = parentPort
const index: IntakeThreadIndex = workerData
/** How often metrics are passed on; a scrape has them passed on at once. */
const FIGURES_MS = 250

const post = (message: FromIntakeThread) => port.postMessage(message)

const log: Log = {
  debug: (fields, text) => postLine('debug', fields, text),
  info: (fields, text) => postLine('info', fields, text),
  warn: (fields, text) => postLine('warn', fields, text),
  error: (fields, text) => postLine('error', fields, text),
}

/** As plain data: an error would lose its class and its code on the way to the main thread. */
function postLine(level: keyof Log, fields: LogFields, text: string): void {
  const { error, ...rest } = fields
  let plain: LogFields
  try {
    plain = JSON.parse(JSON.stringify({ ...rest, error: describeError(error) }))
  } catch {
    // A field that JSON cannot hold.
    plain = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  post({ kind: 'log', level, fields: plain, text })
}

/** One wake-up for all messages of an iteration of the event loop. */
function openSignals(): Signals {
  let isDue = false
  return {
    notify() {
      if (isDue) return
      isDue = true
      setImmediate(() => {
        isDue = false
        post({ kind: 'wake' })
      })
    },
    listen: () => {},
    close: () => Promise.resolve(),
  }
}

const given = Promise.withResolvers<IntakeThreadData>()
const started = Promise.withResolvers<void>()
const store = Promise.withResolvers<Awaited<ReturnType<typeof openThreadStore>>>()
let tls: SecureContext | null = null
let calls: MetricCall[] = []

// Before anything is opened: the main thread does not wait until it sends.
port.on('message', (message: ToIntakeThread) => {
  switch (message.kind) {
    case 'open':
      tls = makeServerTls(message.data.certificate)
      given.resolve(message.data)
      break
    case 'writer':
      void store.promise.then(({ connect }) => connect?.(message.port))
      break
    case 'started':
      started.resolve()
      break
    case 'certificate':
      tls = makeServerTls(message.certificate)
      break
    case 'sweep':
      void running.then(({ server }) => server.sweep())
      break
    case 'report':
      void running.then((opened) => postFigures(opened, message.id))
      break
    case 'close':
      void running.then((opened) => close(opened, message.drainMs))
  }
})

const running = openAll(async (opened) => {
  const { settings, instance, threads, counts, isMetered } = await given.promise
  const metrics = isMetered ? recordMetrics((call) => void calls.push(call)) : silentMetrics
  const opening = openThreadStore({
    ...{ settings, instance, threads, signals: openSignals() },
    observer: { committed: (size, durationMs) => metrics.observeCommit({ size, durationMs }) },
    onError: (error) => log.warn({ error }, 'a database connection was lost'),
  })
  store.resolve(opening)
  const { store: own } = await opening
  opened.defer(() => own.close())
  const { deriveKey } = await openKeys({ settings, db: own.db, chance: systemChance })
  const seams = { log, clock: systemClock, chance: systemChance, metrics }
  // Parsers take up to 200 MiB each under load.
  const parsing = threads > 1 ? { parsersMax: 1 } : {}
  const parts = await openReceivingParts(settings, { store: own, ...seams, ...parsing }, opened)
  const { base, parser, receiving, storageQuota } = parts
  const { inboxDomain } = settings
  const deps = { ...base, ...receiving, inboxDomain, deriveKey, parser, storageQuota }
  const server = await openSmtpServer({
    host: settings.smtpHost,
    port: settings.smtpPort,
    reusePort: settings.reusePort,
    hostname: settings.smtpHostname,
    tls: () => tls as SecureContext,
    counts: new PortCounts(counts, index),
    receiver: makeReceiver(deps, { started: started.promise, metrics }),
    clock: systemClock,
    log,
    onOutcome: outcomeCounter(metrics),
  })
  if (isMetered) {
    const timer = setInterval(() => postFigures({ parts }, null), FIGURES_MS)
    opened.defer(() => clearInterval(timer))
  }
  post({ kind: 'listening', address: server.address })
  return { server, parts, opened }
})
type Running = Awaited<typeof running>
await running

/** `answers` is the number of the report that asks for them. */
function postFigures({ parts }: Pick<Running, 'parts'>, answers: number | null): void {
  const { storePressure, db } = parts.base
  const { waiting, oldestMs } = storePressure.load()
  const load = {
    ...{ waiting, oldestMs, isStrained: storePressure.isStrained() },
    parserQueue: parts.parserPool.waiting(),
    connections: db.connections?.() ?? null,
  }
  post({ kind: 'figures', answers, calls, load })
  calls = []
}

async function close({ server, parts, opened }: Running, drainMs: number): Promise<void> {
  await server.close({ drainMs })
  postFigures({ parts }, null)
  post({ kind: 'drained' })
  await opened.disposeAsync()
  post({ kind: 'closed' })
}
