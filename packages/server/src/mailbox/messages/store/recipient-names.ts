// Display names of the recipients in To, Cc and Reply-To. The columns of addresses have none,
// because everything that compares addresses reads them.

import type { Names } from '#platform/email-address.ts'

export function namesColumn(names: Names): string | null {
  return names.size === 0 ? null : JSON.stringify(Object.fromEntries(names))
}

export function readNames(column: string | null): Names {
  return new Map(column === null ? [] : Object.entries<string>(JSON.parse(column)))
}
