// The time at which a rule ends.

import { type Clock, parseInstant } from '#platform/clock.ts'
import { wrongField } from '#platform/problem.ts'
import { DAY_MS } from '#platform/units.ts'

const AHEAD_MS_MAX = 36_500 * DAY_MS
export const RULE_END_RULE = 'must be a time of ISO 8601 in the future, at most 36500 days ahead'

type Written = string | null | undefined

/** Undefined for an invalid time. The time may be past, as that of a rule that has ended. */
export function parseRuleEnd(
  { clock }: { clock: Clock },
  text: Written,
): number | null | undefined {
  if (text == null) return null
  const endMs = parseInstant(text)
  return endMs === null || endMs - clock.now() > AHEAD_MS_MAX ? undefined : endMs
}

/** Throws `bad_request` unless the rule ends in the future or never. */
export function readRuleEnd(deps: { clock: Clock }, text: Written): number | null {
  const endMs = parseRuleEnd(deps, text)
  if (endMs === null || (endMs !== undefined && endMs > deps.clock.now())) return endMs
  throw wrongField('expiresAt', RULE_END_RULE)
}
