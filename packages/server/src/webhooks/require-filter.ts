// Refusing a webhook that names what its account does not have.

import type { EventFilter } from '#events/event.ts'
import type { AskedFilter, CheckFilter } from '#events/event-filter.ts'
import { problem } from '#platform/problem.ts'

/** `invalid_pod` or `bad_request`, naming the first that is wrong. */
export async function requireFilter(
  deps: { checkFilter: CheckFilter },
  asked: AskedFilter,
): Promise<EventFilter> {
  const test = asked.kinds.indexOf('webhook.test')
  if (test >= 0) {
    const message = 'cannot contain webhook.test, which is always sent to the webhook under test'
    throw refusal('bad_request', `${fieldNames.kinds}[${test}]`, message)
  }
  const checked = await deps.checkFilter(asked)
  if (checked.kind === 'filter') return checked.filter
  const { field, index, message } = checked
  const code = field === 'podIds' ? 'invalid_pod' : 'bad_request'
  throw refusal(code, `${fieldNames[field]}[${index}]`, message)
}

function refusal(code: 'invalid_pod' | 'bad_request', path: string, message: string) {
  return problem(code, `The field "${path}" ${message}.`, { details: [{ path, message }] })
}

const fieldNames = { kinds: 'eventTypes', podIds: 'podIds', inboxIds: 'inboxIds' } as const
