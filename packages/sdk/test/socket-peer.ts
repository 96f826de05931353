// The far end of following: a real WebSocket server that holds a log, sends events after a cursor and breaks
// connections by a script. It uses the package `ws`, as the service does.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Event } from '@mailroom/sdk'
import { type WebSocket, WebSocketServer } from 'ws'

export type Subscribed = {
  readonly last_event_id?: string
  readonly inbox_ids?: readonly string[]
  readonly [name: string]: unknown
}

export type Connection = {
  readonly request: IncomingMessage
  readonly socket: WebSocket
  /** Frames of the client, unchanged. */
  readonly frames: Subscribed[]
  /** Whether the client has received the acknowledgement of its subscription. */
  isSubscribed: boolean
  /** Ends it without a closing handshake. */
  cut(): void
}

export type SocketPeer = {
  readonly baseUrl: string
  readonly connections: readonly Connection[]
  readonly log: readonly Event[]
  /** Adds events to the log and sends them to all subscribers. */
  add(count: number, padding?: string): void
  /** Runs on each new connection before its first frame; returning true skips everything else. */
  onConnection: (connection: Connection, index: number) => boolean
  /** Whether subscriptions are acknowledged. */
  isMute: boolean
  waitForConnections(count: number): Promise<void>
  close(): Promise<void>
}

export async function openSocketPeer(): Promise<SocketPeer> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/v1/ws' })
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const connections: Connection[] = []
  const log: Event[] = []
  const peer: SocketPeer = {
    baseUrl: `http://127.0.0.1:${port}`,
    connections,
    log,
    onConnection: () => false,
    isMute: false,
    add(count, padding = '') {
      for (let index = 0; index < count; index++) {
        const event = eventOf(log.length, padding)
        log.push(event)
        for (const { isSubscribed, socket } of connections) {
          if (isSubscribed && socket.readyState === socket.OPEN) socket.send(JSON.stringify(event))
        }
      }
    },
    async waitForConnections(count) {
      while (connections.length < count) await once(server, 'connection')
    },
    async close() {
      for (const client of server.clients) client.terminate()
      server.close()
      await once(server, 'close')
    },
  }
  server.on('connection', (socket, request) => {
    const transport: Socket = request.socket
    const connection: Connection = {
      request,
      socket,
      frames: [],
      isSubscribed: false,
      cut: () => transport.destroy(),
    }
    socket.on('error', () => {})
    const index = connections.push(connection) - 1
    const isTaken = peer.onConnection(connection, index)
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data))
      connection.frames.push(frame)
      if (isTaken || peer.isMute) return
      if (frame.type === 'ping') socket.send('{"type":"pong"}')
      else subscribe(peer, connection, frame)
    })
  })
  return peer
}

function subscribe({ log }: SocketPeer, connection: Connection, frame: Subscribed): void {
  const { socket } = connection
  const cursor = frame.last_event_id
  const start = log.findIndex(({ event_id: id }) => id === cursor) + 1
  if (frame.inbox_ids?.includes('inb_theirs')) {
    socket.send('{"type":"error","message":"No such inbox."}')
    return
  }
  const isUnknown = cursor !== undefined && start === 0
  if (isUnknown) socket.send('{"type":"error","message":"No such event."}')
  const newest = (isUnknown ? undefined : cursor) ?? log.at(-1)?.event_id ?? null
  const lists = { inbox_ids: [], pod_ids: [], event_types: [] }
  socket.send(JSON.stringify({ type: 'subscribed', ...lists, last_event_id: newest }))
  connection.isSubscribed = true
  const behind = cursor === undefined || isUnknown ? [] : log.slice(start)
  for (const event of behind) socket.send(JSON.stringify(event))
}

function eventOf(index: number, padding: string): Event {
  return {
    event: 'thread.loop_suspected',
    event_id: `evt_${String(index).padStart(8, '0')}`,
    occurred_at: '2026-11-20T09:00:00.000Z',
    delivered_at: '2026-11-20T09:00:00.000Z',
    attempt: 1,
    inbox_id: 'inb_1',
    pod_id: 'pod_1',
    thread_id: padding,
  }
}
