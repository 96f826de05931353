import { errorCodes } from '@mailroom/contract/error-codes.ts'
import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { LIMIT_SETTINGS, type LimitSettings } from './settings.ts'

/** The `fix` of a refusal by a limit that the operator sets. */
export function fixOfLimit(
  limit: keyof LimitSettings,
  toCaller: string = errorCodes.rate_limit_exceeded.fix,
): string {
  return `${toCaller} The operator can change the limit with ${LIMIT_SETTINGS[limit].name}.`
}

/** The command with which the operator changes a plan. */
export function setPlanCommandOf(accountId: string, plan: Plan): string {
  return `mailroom admin account set-plan --account ${accountId} --plan ${plan}`
}
