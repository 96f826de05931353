// A WebSocket client for tests: the received frames, in order, and the end.

import { once } from 'node:events'
import { type ClientOptions, WebSocket } from 'ws'

export type SocketClient = {
  readonly socket: WebSocket
  /** The next frame, as JSON; rejects when the connection ends instead. */
  next(): Promise<Record<string, unknown>>
  /** Frames that were received and not read yet. */
  readonly rest: readonly Record<string, unknown>[]
  send(frame: unknown): void
  /** Sends a frame and returns the next one received. */
  ask(frame: unknown): Promise<Record<string, unknown>>
  /** Close code and reason, once it is closed. */
  readonly closed: Promise<{ code: number; reason: string }>
}

export type SocketOptions = ClientOptions & { token?: string | null; query?: string }

/** Connects; rejects with the status when the answer is HTTP. `address` is that of the HTTP server. */
export async function openSocket(
  address: string,
  { token = null, query = '', ...options }: SocketOptions = {},
): Promise<SocketClient> {
  const url = `${address.replace(/^http/, 'ws')}/v1/ws${query}`
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...options.headers,
  }
  const socket = new WebSocket(url, { ...options, headers })
  const came: Record<string, unknown>[] = []
  const waiting: PromiseWithResolvers<Record<string, unknown>>[] = []
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  socket.on('message', (data) => {
    const frame = JSON.parse(data.toString()) as Record<string, unknown>
    const first = waiting.shift()
    if (first === undefined) came.push(frame)
    else first.resolve(frame)
  })
  socket.on('close', (code, reason) => {
    closed.resolve({ code, reason: reason.toString() })
    for (const one of waiting.splice(0)) one.reject(new Error(`closed with ${code} ${reason}`))
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.on('error', reject)
    socket.once('unexpected-response', (_request, response) => {
      reject(new RefusedUpgrade(response.statusCode ?? 0, response.headers))
      socket.on('error', () => {})
      response.resume()
      socket.terminate()
    })
  })
  const client: SocketClient = {
    socket,
    rest: came,
    closed: closed.promise,
    next() {
      const first = came.shift()
      if (first !== undefined) return Promise.resolve(first)
      const one = Promise.withResolvers<Record<string, unknown>>()
      waiting.push(one)
      if (socket.readyState === WebSocket.CLOSED) one.reject(new Error('closed'))
      return one.promise
    },
    send: (frame) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    ask(frame) {
      client.send(frame)
      return client.next()
    },
  }
  return client
}

/** The HTTP answer to the request for a WebSocket. */
export class RefusedUpgrade extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>

  constructor(status: number, headers: Readonly<Record<string, string | string[] | undefined>>) {
    super(`answered ${status}`)
    this.status = status
    this.headers = headers
  }
}

/** Closes it and resolves after the close. */
export async function closeSocket({ socket }: SocketClient): Promise<void> {
  if (socket.readyState === WebSocket.CLOSED) return
  socket.close()
  await once(socket, 'close')
}
