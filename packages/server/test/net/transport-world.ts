// A carrier over real DNS, a real router and scripted mail servers, and outcomes as short texts.

import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecipientOutcome } from '@mailroom/smtp/client/outgoing-mail.ts'
import { describeOutcomes, RAW } from '@mailroom/smtp/test/client-world.ts'
import { type Mta, type MtaScript, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import type { Carried, Carrier, Consignment } from '#delivery/carrier.ts'
import { openDirectCarrier, openRelayCarrier } from '#delivery/carrier.ts'
import type { FetchPolicy } from '#delivery/find-route.ts'
import { openRouter } from '#delivery/find-route.ts'
import type { HostCallerOptions } from '#delivery/host-caller.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { mx } from './route-world.ts'

export type Told = {
  readonly host: string | null
  readonly tls: string | null
  readonly outcomes: readonly string[]
}

export type TransportWorld = {
  readonly carrier: Carrier
  readonly dns: Dns
  /** From a@a.example, to the domain of the first recipient. */
  carry(to: string | readonly string[], changes?: Changes): Promise<Told>
  /** The same, in the form of the carrier. */
  carryRaw(to: string | readonly string[], changes?: Changes): Promise<Carried>
  /** Moves the clock of routes and of skipped hosts. */
  pass(ms: number): void
}

export type Changes = Partial<Consignment> & { readonly signal?: AbortSignal }

export type TransportOptions = Partial<HostCallerOptions> & {
  readonly zone?: Zone
  /** Settings of direct delivery. */
  readonly port?: number
  /** A relay instead of direct delivery. */
  readonly relayUrl?: string
  /** False: the system resolves the relay's name. */
  readonly hasResolver?: boolean
  readonly allowPrivate?: boolean
  readonly fetchPolicy?: FetchPolicy
  /** Of routes; the system's unless given. */
  readonly chance?: Chance
}

/** Closed with the test. */
export async function openTransportWorld(
  t: TestContext,
  options: TransportOptions = {},
): Promise<TransportWorld> {
  const {
    zone = {},
    port = 25,
    relayUrl,
    hasResolver,
    allowPrivate,
    fetchPolicy,
    chance = systemChance,
    ...caller
  } = options
  const dns = await openDns(zone)
  // No question is sent twice because the machine was slow to answer.
  const tries = { timeoutMs: 3_000, firstTryMs: MINUTE_MS }
  const resolver = openResolver({ servers: [dns.server], ...tries })
  let passedMs = 0
  const tell = () => performance.now() + passedMs
  const clock = { ...systemClock, monotonic: tell, steady: tell }
  const router = openRouter({
    resolver,
    allowPrivate: allowPrivate ?? true,
    chance,
    clock,
    port,
    fetchPolicy: fetchPolicy ?? (async () => ({ kind: 'fault', text: 'not in this test' })),
  })
  const settings = { hostname: 'client.example', clock, ...caller }
  const carrier =
    relayUrl === undefined
      ? openDirectCarrier({ ...settings, router, port })
      : openRelayCarrier({
          ...settings,
          url: relayUrl,
          resolver: hasResolver === false ? null : resolver,
        })
  t.after(async () => {
    await carrier.close()
    router.close()
    resolver.close()
    await dns.close()
  })
  const carryRaw: TransportWorld['carryRaw'] = (to, { signal, ...changes } = {}) => {
    const recipients = typeof to === 'string' ? [to] : to
    const destination = recipients[0]?.split('@')[1] ?? ''
    const mail = { reversePath: 'a@a.example', recipients, raw: RAW, needsSmtpUtf8: false }
    const consignment = { destination, ...mail, ...changes }
    return carrier.carry(consignment, signal ?? new AbortController().signal)
  }
  return {
    carrier,
    dns,
    carryRaw,
    carry: async (to, changes) => describe(await carryRaw(to, changes)),
    pass: (ms) => {
      passedMs += ms
    },
  }
}

/** Mail servers on 127.0.0.1, 127.0.0.2 and so on, all on one port. Closed with the test. */
export async function openHosts<const Scripts extends readonly MtaScript[]>(
  t: TestContext,
  scripts: Scripts,
): Promise<{ mtas: { [Index in keyof Scripts]: Mta }; port: number }> {
  const mtas: Mta[] = []
  for (const [index, script] of scripts.entries()) {
    const mta = await openMta(script, mtas[0]?.port ?? 0, `127.0.0.${index + 1}`)
    t.after(() => mta.close())
    mtas.push(mta)
  }
  // The mapped type is that of `mtas`, one for each script.
  return { mtas: mtas as { [Index in keyof Scripts]: Mta }, port: mtas[0]?.port ?? 0 }
}

/** `destination` with as many hosts, mx1 the preferred, at 127.0.0.1 and so on. */
export function zoneOf(destination: string, hosts: number): Zone {
  const names = Array.from({ length: hosts }, (_, index) => `mx${index + 1}.${destination}`)
  const zone: Zone = { [destination]: { MX: mx(...names) } }
  for (const [index, name] of names.entries()) zone[name] = { A: [`127.0.0.${index + 1}`] }
  return zone
}

export function countMail(mta: Mta): number {
  return mta.commands.filter(({ line }) => line.startsWith('MAIL')).length
}

/** Resolves once `isTrue`, polling every few milliseconds; fails after a minute. */
export async function until(isTrue: () => boolean): Promise<void> {
  const startedMs = performance.now()
  while (!isTrue()) {
    if (performance.now() - startedMs > 60_000) throw new Error(`Waited in vain: ${isTrue}`)
    await sleep(2)
  }
}

/** Runs `act` for 0 to `count` - 1, this many at once. */
export async function inParallel(
  count: number,
  concurrency: number,
  act: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const work = async () => {
    for (let index = next++; index < count; index = next++) await act(index)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

function describe({ host, tls, outcomes }: Carried): Told {
  const texts = outcomes.map((outcome) => {
    if (outcome.kind === 'no-route' || outcome.kind === 'crowded') return outcome.kind
    if (outcome.kind === 'unroutable')
      return `unroutable ${outcome.reply.code} ${outcome.reply.enhanced}`
    return describeOutcomes([outcome satisfies RecipientOutcome])[0] ?? ''
  })
  return { host, tls, outcomes: texts }
}
