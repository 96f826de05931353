// The far end of the SDK: a real HTTP server that answers by a script and keeps the requests.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type SeenRequest = {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

export type Reply = {
  status?: number
  headers?: Record<string, string>
  body?: unknown
}

/** What to do with a request: answer it, hang up on it, or leave it waiting. */
export type Step = Reply | 'hang-up' | 'wait'

export type Peer = AsyncDisposable & {
  baseUrl: string
  requests: SeenRequest[]
  close(): Promise<void>
}

/** The last step is repeated for ever. */
export async function openPeer(...steps: Step[]): Promise<Peer> {
  const requests: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const seen = { method, url, headers, body: '' }
    requests.push(seen)
    const step = steps[Math.min(requests.length, steps.length) - 1] ?? {}
    for await (const chunk of request) seen.body += chunk
    take(step, request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    [Symbol.asyncDispose](this: { close(): Promise<void> }) {
      return this.close()
    },
  }
}

function take(step: Step, request: IncomingMessage, response: ServerResponse): void {
  if (step === 'wait') return
  if (step === 'hang-up') {
    request.socket.destroy()
    return
  }
  const { status = 200, headers = {}, body = {} } = step
  response.writeHead(status, { 'x-request-id': 'req_1', ...headers })
  response.end(status === 204 ? undefined : JSON.stringify(body))
}
