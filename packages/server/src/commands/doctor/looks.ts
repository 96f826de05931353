// What the checks of the doctor look with: the settings, DNS, and this machine's own addresses.

import { plainAddress } from '@mailroom/smtp/client-address.ts'
import type { Settings } from '#config/settings.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { listOwnAddresses } from '#platform/egress/address-guard.ts'

export type Addresses = {
  readonly addresses: readonly string[]
  /** Why there may be more; null when DNS answered for both kinds. */
  readonly fault: string | null
}

export type Looks = {
  readonly settings: Settings
  readonly resolver: Resolver
  addressesOf(host: string): Promise<Addresses>
  isOwnAddress(address: string): boolean
}

/** `resolver` stays the caller's to close. */
export function openLooks(settings: Settings, resolver: Resolver): Looks {
  const own = new Set(listOwnAddresses().map(plainAddress))
  return {
    settings,
    resolver,
    async addressesOf(host) {
      const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
      const fault = answers.find(({ kind }) => kind === 'fault')
      return {
        addresses: answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : [])),
        fault: fault?.kind === 'fault' ? fault.text : null,
      }
    },
    isOwnAddress: (address) => own.has(plainAddress(address)),
  }
}
