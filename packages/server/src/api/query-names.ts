// How query parameters are written, and those that a route does not have. A typing error is refused,
// because a list without its filter is another list; anything else is ignored, because existing
// clients send more.

import { type OperationId, operationOf } from '@mailroom/contract/operations.ts'
import type { TSchema } from '@mailroom/contract/schema.ts'
import { editDistance } from '#config/nearest.ts'
import { wrongQuery } from '#platform/problem.ts'

export const IGNORED_HEADER = 'mailroom-ignored-parameters'

const DISTANCE_MAX = 2
const NAMED_MAX = 10
const NAMED_LENGTH_MAX = 50

/** The name without underscores and capitals, which make no difference. */
export function plainName(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

export function isObject(property: TSchema): boolean {
  return 'type' in property && property.type === 'object'
}

/** The field in `name.field` or `name[field]`, or null. */
export function fieldOf(key: string, name: string): string | null {
  if (key.startsWith(`${name}.`)) return key.slice(name.length + 1)
  const isBracketed = key.startsWith(`${name}[`) && key.endsWith(']')
  return isBracketed ? key.slice(name.length + 1, -1) : null
}

/** Names that the operation ignores. Throws `bad_request` if one seems to be a typing error. */
export function ignoredParameters(
  id: OperationId,
  query: Readonly<Record<string, unknown>>,
): string[] {
  const known = Object.entries(operationOf(id).query?.properties ?? {})
  const isKnown = (key: string) =>
    known.some(([name, property]) =>
      isObject(property)
        ? key === name || fieldOf(key, name) !== null
        : plainName(key) === plainName(name),
    )
  const ignored = Object.keys(query).filter((key) => !isKnown(key))
  refuseMistyped(
    ignored,
    known.map(([name]) => name),
  )
  return ignored
}

/** Throws `bad_request` for a name within two letters of one in `known`. */
export function refuseMistyped(unknown: readonly string[], known: readonly string[]): void {
  for (const name of unknown) {
    // In `metadata.key` and `labels[]`, the parameter is the part before the sign.
    const written = plainName(name.split(/[.[]/, 1)[0] ?? '')
    const meant = known.find((one) => isMistyped(written, plainName(one)))
    if (meant === undefined) continue
    throw wrongQuery(name, `is not known. Perhaps you mean "${meant}"`)
  }
}

/** Two letters of a short name such as `to` would be another word. */
function isMistyped(written: string, known: string): boolean {
  // The distance is at least the difference in length, and the computation is slow.
  if (Math.abs(written.length - known.length) > DISTANCE_MAX) return false
  const distance = editDistance(written, known)
  return distance <= DISTANCE_MAX && 2 * distance < Math.min(written.length, known.length)
}

/** The value of the header: names as in a URL, a bounded number of bounded length. */
export function ignoredNames(names: readonly string[]): string {
  return names
    .slice(0, NAMED_MAX)
    .map((name) => encodeURIComponent(name.slice(0, NAMED_LENGTH_MAX).toWellFormed()))
    .join(', ')
}
