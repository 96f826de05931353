// Refusing a webhook that names what its account does not have.

import type { Deps } from '#actions/deps.ts'
import { checkFilter } from '#actions/event/check-filter.ts'
import type { EventFilter } from '#model/event.ts'
import { problem } from '#model/problem.ts'

/** `invalid_pod` or `bad_request`, naming the first that is wrong. */
export async function requireFilter(
  deps: Pick<Deps, 'db'>,
  asked: Parameters<typeof checkFilter>[1],
): Promise<EventFilter> {
  const test = asked.kinds.indexOf('webhook.test')
  if (test >= 0) {
    const message = 'cannot contain webhook.test, which is always sent to the webhook under test'
    throw refusal('bad_request', `${fieldNames.kinds}[${test}]`, message)
  }
  const checked = await checkFilter(deps, asked)
  if (checked.kind === 'filter') return checked.filter
  const { field, index, message } = checked
  const code = field === 'podIds' ? 'invalid_pod' : 'bad_request'
  throw refusal(code, `${fieldNames[field]}[${index}]`, message)
}

function refusal(code: 'invalid_pod' | 'bad_request', path: string, message: string) {
  return problem(code, `The field "${path}" ${message}.`, { details: [{ path, message }] })
}

const fieldNames = { kinds: 'eventTypes', podIds: 'podIds', inboxIds: 'inboxIds' } as const
