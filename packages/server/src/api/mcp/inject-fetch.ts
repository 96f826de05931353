// A fetch that asks the door it stands behind, without a connection: the request takes the same way as
// one from outside, past the same checks, limits and handlers.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, InjectOptions } from 'fastify'

export type InjectFetch = (from: { readonly clientAddress: string }) => typeof fetch

/** Has to be called before the door listens. Of a URL only the path and the query are looked at. */
export function injectFetch(app: FastifyInstance): InjectFetch {
  const signals = new AsyncLocalStorage<AbortSignal | null>()
  app.addHook('onRequest', async (_request, { raw }) => {
    const signal = signals.getStore()
    if (!signal) return
    // As if the client had hung up; whoever waits for that lets go.
    const hangUp = () => raw.destroy()
    signal.addEventListener('abort', hangUp, { once: true })
    raw.once('close', () => signal.removeEventListener('abort', hangUp))
  })
  return ({ clientAddress }) =>
    async (input, init = {}) => {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input)
      const { signal = null, body } = init
      signal?.throwIfAborted()
      const asked: InjectOptions = {
        method: methodOf(init.method),
        url: `${pathname}${search}`,
        headers: Object.fromEntries(new Headers(init.headers)),
        remoteAddress: clientAddress,
        ...(body ? { payload: payloadOf(body) } : {}),
      }
      // What is awaited within begins within.
      const answer = await signals.run(signal, async () => await app.inject(asked))
      const headers = new Headers()
      for (const [name, value] of Object.entries(answer.headers)) {
        for (const one of [value ?? []].flat()) headers.append(name, String(one))
      }
      const { statusCode: status, rawPayload } = answer
      return new Response(rawPayload.length === 0 ? null : new Uint8Array(rawPayload), {
        status,
        headers,
      })
    }
}

function methodOf(method = 'GET'): 'GET' | 'POST' | 'PATCH' | 'DELETE' {
  if (method === 'GET' || method === 'POST' || method === 'PATCH' || method === 'DELETE') {
    return method
  }
  throw new TypeError(`No operation has the method ${method}.`)
}

function payloadOf(body: unknown): string | Buffer {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body)
  throw new TypeError('Only texts and octets are sent here.')
}
