// Each send of a batch has the key, hash, checks and handler of a single send.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Handlers, KeyContext } from '#http/handler.ts'
import { problemOf } from '#http/problems.ts'
import type { Log } from '#platform/log.ts'
import { AppError, wrongField } from '#platform/problem.ts'
import { checkItemKey, hashRequest } from './idempotency.ts'
import { type CompileSchema, readInput } from './read-input.ts'
import type { AnyHandler, RequestPorts } from './routes.ts'

type Batch = {
  readonly path: { readonly id: string }
  readonly body: { readonly items: readonly unknown[] }
}

type Outcome = { readonly status: number; readonly body: unknown; readonly isReplay: boolean }

type BatchOptions = {
  readonly handlers: Pick<Handlers, 'inboxes.get' | 'inboxes.send'>
  readonly ports: Pick<RequestPorts, 'findReplay' | 'requireRoom'>
  readonly log: Log
}

export function batchHandlers(options: BatchOptions): Record<'inboxes.sendBatch', AnyHandler> {
  return {
    'inboxes.sendBatch': async (
      { path, body: { items } }: Batch,
      context: KeyContext,
      compile: CompileSchema,
    ): Promise<{ data: Outcome[] }> => {
      // A missing inbox fails the whole request.
      await options.handlers['inboxes.get']({ path, query: {}, body: undefined as never }, context)
      const data: Outcome[] = []
      // Sequential: a later item may repeat an earlier key, and limits count in order.
      for (const item of items) {
        data.push(await judge(options, { path, item, context, compile }))
        await yieldToOthers()
      }
      return { data }
    },
  }
}

type Judged = {
  readonly path: Batch['path']
  readonly item: unknown
  readonly context: KeyContext
  readonly compile: CompileSchema
}

async function judge(options: BatchOptions, judged: Judged): Promise<Outcome> {
  const { requestId } = judged.context
  try {
    return { status: 200, ...(await send(options, judged)) }
  } catch (error) {
    const { status, body, isOurs } = problemOf(error, requestId)
    if (isOurs) {
      const operationId = 'inboxes.sendBatch'
      options.log.error({ requestId, operationId, status, error }, 'An item of a batch failed.')
    }
    return { status, body, isReplay: false }
  }
}

async function send(
  { handlers, ports }: BatchOptions,
  { path, item, context, compile }: Judged,
): Promise<Omit<Outcome, 'status'>> {
  const { accountId } = context
  ports.requireRoom?.(accountId)
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    const message = 'must be an object'
    throw new AppError('bad_request', `The item ${message}.`, { details: [{ path: '', message }] })
  }
  const { idempotencyKey: given, leaseToken, ...value } = item as Record<string, unknown>
  const idempotencyKey = checkItemKey(given)
  if (leaseToken !== undefined && typeof leaseToken !== 'string') {
    throw wrongField('leaseToken', 'must be a string')
  }
  const body = { kind: 'json', value } as const
  const requestHash = hashRequest({ operationId: 'inboxes.send', path, body })
  const replay = await ports.findReplay({ accountId, key: idempotencyKey, requestHash })
  if (replay !== null) return { body: replay, isReplay: true }
  const input = readInput('inboxes.send', { path, query: {}, body }, compile)
  const headers = { ...context.headers, 'lease-token': leaseToken }
  const once = { ...context, headers, idempotencyKey, requestHash }
  const { body: sent, isReplay } = await handlers['inboxes.send'](input as never, once)
  return { body: sent, isReplay }
}
