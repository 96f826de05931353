// Outcomes of requests as text that tests compare: the code of a refusal, or that there was none.

import assert from 'node:assert/strict'
import { MailroomError } from '@mailroom/sdk'

/** The refusal of the request; fails when the request succeeds or gets no answer. */
export async function refusalOf(request: Promise<unknown>): Promise<MailroomError> {
  try {
    await request
  } catch (error) {
    if (error instanceof MailroomError) return error
    throw error
  }
  throw assert.fail('The request was not refused.')
}

/** `status code` of the refusal, such as `409 address_taken`. */
export async function refusal(request: Promise<unknown>): Promise<string> {
  const { status, code } = await refusalOf(request)
  return `${status} ${code}`
}

/** The number of each outcome: `done`, or `status code`. */
export async function countOutcomes(requests: Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const settled of await Promise.allSettled(requests)) {
    const outcome = settled.status === 'fulfilled' ? 'done' : describe(settled.reason)
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

function describe(reason: unknown): string {
  return reason instanceof MailroomError ? `${reason.status} ${reason.code}` : String(reason)
}

/** The JSON body of an answer, which must have the form of an error and hold a request id. */
export async function errorOf(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json()) as Record<string, unknown>
  assert.equal(typeof body.error, 'string', JSON.stringify(body))
  assert.equal(typeof body.message, 'string', JSON.stringify(body))
  assert.equal(body.requestId, response.headers.get('x-request-id'))
  return body
}

/** `status code` of an answer to a raw request. */
export async function outcomeOf(response: Response | Promise<Response>): Promise<string> {
  const answer = await response
  if (answer.ok) return `${answer.status}`
  return `${answer.status} ${(await errorOf(answer)).error}`
}

/**
 * Repeats until the condition holds, for background work of the service. Catches hanging: the pause after a rewriting of the
 * index, nine times its duration, was more than a minute on a busy machine.
 */
export async function until(isSo: () => Promise<boolean>, msMax = 150_000): Promise<void> {
  const deadlineMs = performance.now() + msMax
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) assert.fail('It did not come true in time.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Runs `count` requests, a few at once, and returns their answers in order. */
export async function repeat<Value>(
  count: number,
  run: (index: number) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = []
  for (let first = 0; first < count; first += BATCH) {
    const length = Math.min(BATCH, count - first)
    values.push(...(await Promise.all(Array.from({ length }, (_, index) => run(first + index)))))
  }
  return values
}

const BATCH = 20
