// The addresses of this machine's own network interfaces.

import { networkInterfaces } from 'node:os'

/** As they are now; a public address that a router translates to is not among them. */
export function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  )
}
