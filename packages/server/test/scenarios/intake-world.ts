// Threads that receive mail for a service of a test, whose trouble the test can make.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { IntakeThreads } from '#inbound/intake/intake.ts'
import { systemClock } from '#platform/clock.ts'
import { type Log, type LogFields, silentLog } from '#platform/log.ts'
import { type Metrics, openMetrics } from '#platform/telemetry/metrics.ts'
import { makeSelfSignedCertificate, openServerTls } from '#platform/tls/server-tls.ts'
import { openSender, type Sender } from '#test/peers/sender.ts'
import type { World } from '#test/world.ts'

export const THREADS = 2
/** So many connections that no thread is left out: the kernel spreads them by their ports. */
export const MANY = 30
const TROUBLE = 'mailroom test: intake threads'
const ENTRY = new URL(import.meta.resolve('#test/peers/troubled-intake.ts'))

type IntakeChanges = { port?: number; threads?: number; silenceMsMax?: number }

export async function openIntake(world: World, changes: IntakeChanges = {}) {
  const { port = 0, threads: count = THREADS, silenceMsMax } = changes
  const lines: string[] = []
  const keep = (fields: LogFields, text: string) => void lines.push(`${text}: ${fields.error}`)
  const log: Log = { ...silentLog, warn: keep, error: keep }
  const made = await makeSelfSignedCertificate('first.example', Date.now())
  const files = { cert: join(world.dataDir, 'cert.pem'), key: join(world.dataDir, 'key.pem') }
  await writeFile(files.cert, made.certificatePem)
  await writeFile(files.key, made.privateKeyPem)
  const settings = { ...world.settings, smtpPort: port, intakeThreads: count, tlsFiles: files }
  const tls = await openServerTls(settings, { now: systemClock.now, log })
  const metrics = await openMetrics({ includesProcess: false })
  const { db, wakeEvents: onEvents } = world.app.deps
  const threads = new IntakeThreads(ENTRY, count, silenceMsMax)
  const started = Promise.resolve()
  await threads.open({ settings, instance: 'test', tls, metrics, db, log, started, onEvents })
  const channel = new BroadcastChannel(TROUBLE)
  return {
    threads,
    ...{ tls, files, metrics, lines },
    trouble: (index: number, trouble: 'end' | 'hang') => channel.postMessage({ index, trouble }),
    listening: () => threads.loads().length,
    connect: (count: number) =>
      Promise.all(Array.from({ length: count }, () => openSender(threads.address.port))),
    async close() {
      channel.close()
      tls.close()
      await threads.close({ drainMs: 5_000 })
    },
  }
}

export async function figure({ metrics }: { metrics: Metrics }, name: string): Promise<number> {
  const lines = (await metrics.render()).body.split('\n')
  return Number(
    lines
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1) ?? 0,
  )
}

export async function hangUp(senders: readonly Sender[]): Promise<void> {
  await Promise.all(senders.map((sender) => sender.quit()))
}
