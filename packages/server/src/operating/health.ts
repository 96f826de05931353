// Where a process is asked how it is: a socket in its data directory, which only its own user can reach.
// Not at its ports, which it may share with others, and of which some roles have none.

import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Log } from '#platform/log.ts'

export type Health = { close(): Promise<void> }

export type HealthOptions = {
  readonly dataDir: string
  /** Why the service is not ready, or null. */
  readonly findObstacle: () => Promise<string | null>
  readonly log: Log
}

/** Of the process that serves this data directory. */
export function healthPath({ dataDir }: { dataDir: string }): string {
  return join(dataDir, 'health.sock')
}

/**
 * Answers `/health` with 200, and `/ready` with 200 or with 503 and the obstacle. Where another process
 * answers for the same data directory, or the path is too long for a socket, the log says so and
 * nothing is opened.
 */
export async function openHealth({ dataDir, findObstacle, log }: HealthOptions): Promise<Health> {
  const path = healthPath({ dataDir })
  const server = createServer(async (request, response) => {
    const obstacle = request.url === '/ready' ? await findObstacle() : null
    response.writeHead(obstacle === null ? 200 : 503, { connection: 'close' })
    response.end(obstacle ?? 'ok')
  })
  try {
    await takePlace(server, path)
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

/** What a process left that was killed is in the way, and answers nobody. */
async function takePlace(server: Server, path: string): Promise<void> {
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
