import type { OperationId } from '@mailroom/contract/operations.ts'
import { MAILBOX } from '@mailroom/contract/text.ts'
import fastify, { type FastifyServerOptions } from 'fastify'
import { checkMailbox } from '#platform/email-address.ts'
import { readInput } from './read-input.ts'

export const VALIDATION: NonNullable<FastifyServerOptions['ajv']> = {
  customOptions: {
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: true,
    // JSON_VALUES_MAX bounds the errors: a value violates only a few keywords.
    allErrors: true,
    verbose: true,
    strict: false,
  },
  onCreate: (ajv) => {
    ajv.addKeyword({
      keyword: MAILBOX,
      type: 'string',
      errors: false,
      validate: (_: unknown, text: string) => checkMailbox(text) === null,
    })
  },
}

/** Throws `bad_request` like a request with an invalid body. */
export async function readBodyOf(id: OperationId, value: unknown): Promise<unknown> {
  const app = fastify({ ajv: VALIDATION })
  const { promise, resolve } = Promise.withResolvers<unknown>()
  app.get('/', async (request) => {
    const raw = { path: {}, query: {}, body: { kind: 'json', value } } as const
    resolve(
      (async () => readInput(id, raw, (schema) => request.compileValidationSchema(schema)).body)(),
    )
  })
  await app.inject('/')
  await app.close()
  return promise
}
