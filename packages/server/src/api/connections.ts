// When all connections are in use, a new one replaces a silent connection, or one of the client
// with the most. A few clients therefore cannot lock out others.

import type { Server } from 'node:http'
import type { BlockList, Socket } from 'node:net'
import { clientGroup, plainAddress } from '@mailroom/smtp/client-address.ts'
import { isIn } from '#http/client-of.ts'
import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'

const HTTP_CONNECTIONS_MAX = 20_000

/** A connection that stays silent longer may be closed to make room. */
const SILENT_MS = SECOND_MS

export type ConnectionOptions = {
  readonly clock: Clock
  readonly trustedProxies: BlockList
  readonly connectionsMax?: number | undefined
}

/** `end` destroys silent connections, for which a closing server would wait. */
export function watchConnections(
  server: Server,
  { clock, trustedProxies, connectionsMax = HTTP_CONNECTIONS_MAX }: ConnectionOptions,
): { end(): void } {
  /** Connections by client, oldest first. */
  const groups = new Map<string, Set<Socket>>()
  /** Silent connections with start times. A connection that has sent data is removed later. */
  const silent = new Map<Socket, number>()
  let count = 0
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress)
    // A proxy forwards requests of many clients and has its own limits.
    const group = isIn(trustedProxies, address) ? '' : clientGroup(address)
    const own = groups.get(group) ?? new Set()
    groups.set(group, own.add(socket))
    silent.set(socket, clock.monotonic())
    count += 1
    const forget = () => {
      if (!own.delete(socket)) return
      silent.delete(socket)
      count -= 1
      if (own.size === 0 && groups.get(group) === own) groups.delete(group)
    }
    socket.once('close', forget)
    if (count <= connectionsMax) return
    const replaced = oldestSilent() ?? oldestOfMost(own.size) ?? socket
    replaced.destroy()
  })

  function oldestSilent(): Socket | undefined {
    const beforeMs = clock.monotonic() - SILENT_MS
    for (const [socket, openedMs] of silent) {
      if (openedMs > beforeMs) return undefined
      silent.delete(socket)
      if (socket.bytesRead === 0 && !socket.destroyed) return socket
    }
    return undefined
  }

  function oldestOfMost(ownSize: number): Socket | undefined {
    let most: Set<Socket> | undefined
    for (const [group, sockets] of groups) {
      if (group !== '' && sockets.size > (most?.size ?? ownSize)) most = sockets
    }
    for (const socket of most ?? []) if (!socket.destroyed) return socket
    return undefined
  }

  return {
    end() {
      for (const socket of silent.keys()) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}
