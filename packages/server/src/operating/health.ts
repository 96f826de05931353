// Health and readiness as API operations, and at a socket in the data directory for processes that
// share a port or have none.

import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Handlers } from '#http/handler.ts'
import type { MailListener } from '#inbound/intake/intake.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'
import type { Db } from '#store/tables.ts'

export type Life = {
  phase: 'starting' | 'serving' | 'draining'
  /** How long the shutdown waits for running work. */
  drainMs: number
}

/** The reason why the service is not ready, or null. */
export async function findObstacle(
  life: Life,
  servers: { readonly smtp: Pick<MailListener, 'isListening'> | null },
  store: { readonly db: Pick<Db, 'check'> },
): Promise<string | null> {
  if (life.phase === 'draining') return 'The service is shutting down.'
  if (life.phase === 'starting') return 'The service is starting.'
  if (servers.smtp !== null && !servers.smtp.isListening()) return 'The SMTP listener is not ready.'
  const isReachable = await store.db.check().then(
    () => true,
    () => false,
  )
  return isReachable ? null : 'The database is not ready.'
}

export function serviceHandlers(ports: {
  findObstacle(): Promise<string | null>
  renderMetrics(): Promise<{ contentType: string; body: string }>
}): Pick<Handlers, Extract<keyof Handlers, `service.${string}`>> {
  return {
    'service.health': () => ({ status: 'ok' as const }),
    'service.ready': async () => {
      const obstacle = await ports.findObstacle()
      if (obstacle !== null) {
        throw problem('service_unavailable', obstacle, { retryAfterSeconds: 1 })
      }
      return { status: 'ready' as const }
    },
    'service.metrics': async () => {
      const { contentType, body } = await ports.renderMetrics()
      return { headers: { 'content-type': contentType }, content: body }
    },
  }
}

export type Health = { close(): Promise<void> }

type HealthOptions = {
  readonly dataDir: string
  readonly findObstacle: () => Promise<string | null>
  readonly log: Log
}

/** The socket of the process that serves this data directory; only its own user can reach it. */
export function healthPath({ dataDir }: { dataDir: string }): string {
  return join(dataDir, 'health.sock')
}

/** Only logs a warning if another process answers, or the path is too long for a socket. */
export async function openHealth({ dataDir, findObstacle, log }: HealthOptions): Promise<Health> {
  const path = healthPath({ dataDir })
  const server = createServer(async (request, response) => {
    const obstacle = request.url === '/ready' ? await findObstacle() : null
    response.writeHead(obstacle === null ? 200 : 503, { connection: 'close' })
    response.end(obstacle ?? 'ok')
  })
  try {
    await listenAlone(server, path)
  } catch (error) {
    log.warn({ error }, 'this process cannot be asked for its health')
    return { close: async () => {} }
  }
  server.unref()
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Removes the socket that a killed process has left behind. */
async function listenAlone(server: Server, path: string): Promise<void> {
  try {
    await listen(server, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error) || error.code !== 'EADDRINUSE') throw error
    if (await isAnswered(path)) throw error
    await rm(path, { force: true })
    await listen(server, path)
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen({ path }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path })
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
