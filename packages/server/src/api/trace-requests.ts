// A span for each request, from its head to the end of its answer, named by its route. Goes on with the
// caller's trace where there is one.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OpenSpan, Tracing } from '#platform/telemetry/tracing.ts'

/** What is asked every few seconds and does nothing. */
const UNTRACED: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics'])

/** The path of the request's operation with `{name}` for parameters; `unknown` where none was reached. */
export function routeOf({ routeOptions: { config } }: FastifyRequest): string {
  return config.operation?.path ?? config.shownPath ?? 'unknown'
}

/** Adds the hooks; none where nothing is traced. */
export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  if (!tracing.isOn) return
  const spans = new WeakMap<FastifyRequest, OpenSpan>()
  app.addHook('onRequest', (request, _reply, done) => {
    const route = routeOf(request)
    if (UNTRACED.has(route)) return done()
    const { traceparent } = request.headers
    const parent = typeof traceparent === 'string' ? traceparent : null
    const { method } = request
    const span = tracing.open(`${method} ${route}`, {
      kind: 'server',
      parent,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'mailroom.request': request.id,
      },
    })
    spans.set(request, span)
    span.within(done)
  })
  // Reading a body ends in a turn of its socket's, which is within nothing.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request)
    if (span === undefined) done()
    else span.within(done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request)
    span?.set({ 'http.response.status_code': reply.statusCode })
    if (reply.statusCode >= 500) span?.fail(String(reply.statusCode))
    span?.end()
    done()
  })
}
