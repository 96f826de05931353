// Connections on which nothing was ever said. For Node these are not idle, so a closing server would
// wait for them.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Open connections: WAITERS_MAX requests that wait, and as many others. */
const HTTP_CONNECTIONS_MAX = 20_000

/**
 * Follows the server's connections from now on, of which it takes HTTP_CONNECTIONS_MAX; `end` cuts those
 * that have sent nothing yet.
 */
export function watchSilentConnections(server: Server): { end(): void } {
  server.maxConnections = HTTP_CONNECTIONS_MAX
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return {
    end() {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}
