// What receivers look up of a machine that sends: the addresses of the name it gives itself, and the
// names of those addresses.

import { isIPv4 } from 'node:net'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded, unknown } from './finding.ts'
import type { Looks } from './looks.ts'

/** Addresses of one host that are asked for their names. */
const ADDRESSES_MAX = 4

/** The name of EHLO and its PTR records. */
export async function checkNames(looks: Looks): Promise<Finding[]> {
  const { smtpHostname, delivery } = looks.settings
  const name: Aim = {
    check: 'name',
    expected: `${smtpHostname}, the SMTP name of this machine, resolves to its public addresses`,
  }
  const reverse: Aim = {
    check: 'reverse name',
    expected: `the PTR record of each address of ${smtpHostname} names it`,
  }
  if (delivery === 'sandbox') {
    const why = 'MAILROOM_DELIVERY is sandbox'
    return [notNeeded(name, why), notNeeded(reverse, why)]
  }
  const { addresses, fault } = await looks.addressesOf(smtpHostname)
  if (addresses.length === 0 && fault !== null) return [unknown(name, `DNS: ${fault}`)]
  const named = judgeName(looks, name, addresses)
  if (delivery === 'relay')
    return [named, notNeeded(reverse, 'the relay connects to the receivers')]
  const asked = addresses.slice(0, ADDRESSES_MAX)
  return [named, ...(await Promise.all(asked.map((one) => checkReverse(looks, one))))]
}

function judgeName(looks: Looks, aim: Aim, addresses: readonly string[]): Finding {
  const { smtpHostname, allowPrivateEgress } = looks.settings
  const text = addresses.join(', ')
  if (addresses.length === 0) {
    return bad(aim, 'it has no address', `Publish A or AAAA records for ${smtpHostname}.`)
  }
  const special = addresses.filter(isSpecialAddress)
  if (special.length > 0 && !allowPrivateEgress) {
    const fix = `Publish only public addresses for ${smtpHostname}.`
    return bad(aim, `${special.join(', ')} cannot be reached from the Internet`, fix)
  }
  if (addresses.some(looks.isOwnAddress)) return good(aim, text)
  const found = `${text}, which is not an address of this machine; correct if a router or load balancer translates addresses`
  return unknown(aim, found, `Make sure connections from this machine appear to come from ${text}.`)
}

/** A name that leads back to the address (RFC 1912 §2.1); without one many receivers refuse mail. */
async function checkReverse(looks: Looks, address: string): Promise<Finding> {
  const { smtpHostname } = looks.settings
  const aim: Aim = {
    check: 'reverse name',
    expected: `the PTR record of ${address} names ${smtpHostname}`,
  }
  const answer = await looks.resolver.ptr(reverseName(address))
  if (answer.kind === 'fault') return unknown(aim, `DNS: ${answer.text}`)
  const fix = `Have the provider of the address set its PTR record to ${smtpHostname}.`
  const names =
    answer.kind === 'found' ? answer.records.map((one) => one.toLowerCase().replace(/\.$/, '')) : []
  if (names.includes(smtpHostname)) return good(aim, `${address} is ${smtpHostname}`)
  if (names.length === 0) return bad(aim, 'it has none', fix)
  const found = `it names ${names.join(', ')}`
  const back = await Promise.all(names.map((name) => looks.addressesOf(name)))
  if (back.some(({ addresses }) => addresses.includes(address))) return advice(aim, found, fix)
  return bad(aim, `${found}, which does not lead back to ${address}`, fix)
}

/** RFC 1035 §3.5, RFC 3596 §2.5. */
export function reverseName(address: string): string {
  if (isIPv4(address)) return `${address.split('.').reverse().join('.')}.in-addr.arpa`
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const front = groups(head)
  const back = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0')
  const digits = [...front, ...zeros, ...back].map((group) => group.padStart(4, '0')).join('')
  return `${[...digits].reverse().join('.')}.ip6.arpa`
}
