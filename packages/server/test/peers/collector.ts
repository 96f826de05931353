// A collector of traces: a real HTTP server that accepts OTLP in JSON and keeps the spans.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export type CollectedSpan = {
  readonly traceId: string
  readonly spanId: string
  /** '' for the first span of a trace. */
  readonly parentSpanId: string
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** The process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>
  readonly hasFailed: boolean
  readonly startMs: number
  readonly endMs: number
}

export type Collector = AsyncDisposable & {
  readonly endpoint: string
  readonly spans: readonly CollectedSpan[]
  /** All received bodies, as text. */
  readonly text: string
  readonly requests: number
  /** Requests that wait for an answer which never comes, until the client disconnects. */
  readonly hanging: number
  /** `hang`: it accepts requests and never answers. */
  habit: 'answer' | 'refuse' | 'hang'
  /** Resolves as soon as `find` returns a value. */
  until<Value>(find: (spans: readonly CollectedSpan[]) => Value | undefined): Promise<Value>
  close(): Promise<void>
}

type Keyed = { key: string; value: Record<string, unknown> }
type Sent = {
  resourceSpans?: {
    resource: { attributes: Keyed[] }
    scopeSpans: { spans: SentSpan[] }[]
  }[]
}
type SentSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes?: Keyed[]
  status?: { code?: number }
  startTimeUnixNano: string
  endTimeUnixNano: string
}

/** Listens on a free port of 127.0.0.1. */
export async function openCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const texts: string[] = []
  const hanging = new Set<ServerResponse>()
  const server = createServer(async (request, response) => {
    collector.requests += 1
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (collector.habit === 'hang') {
      hanging.add(response)
      response.once('close', () => hanging.delete(response))
      return
    }
    if (collector.habit === 'refuse') {
      response.writeHead(400).end('{}')
      return
    }
    const text = Buffer.concat(chunks).toString()
    texts.push(text)
    if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(text)))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const collector = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get text() {
      return texts.join('\n')
    },
    requests: 0,
    get hanging() {
      return hanging.size
    },
    habit: 'answer' as Collector['habit'],
    async until<Value>(find: (spans: readonly CollectedSpan[]) => Value | undefined) {
      for (;;) {
        const found = find(spans)
        if (found !== undefined) return found
        await pause(50)
      }
    },
    async close() {
      server.close()
      // Refused for good, so that the client does not retry for seconds.
      const refused = [...hanging].map((response) => once(response.writeHead(400), 'close'))
      for (const response of hanging) response.end('{}')
      await Promise.all(refused)
      server.closeAllConnections()
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
  return collector
}

function spansOf({ resourceSpans = [] }: Sent): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        attributes: valuesOf(span.attributes ?? []),
        resource: valuesOf(resource.attributes),
        hasFailed: span.status?.code === 2,
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
      })),
    ),
  )
}

function valuesOf(attributes: Keyed[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
