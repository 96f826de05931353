import { plainAddress } from '@mailroom/smtp/client-address.ts'
import { plainText } from '#commands/command.ts'
import type { Settings } from '#config/settings.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { listOwnAddresses } from '#platform/egress/address-guard.ts'

/** `wrong`: mail is lost, refused or distrusted. `unknown`: this machine cannot find out. */
type Verdict = 'ok' | 'wrong' | 'advice' | 'unknown' | 'not needed'

export type Finding = {
  readonly check: string
  readonly verdict: Verdict
  readonly expected: string
  readonly found: string
  readonly fix: string | null
}

export type Aim = Pick<Finding, 'check' | 'expected'>

export function good(aim: Aim, found: string): Finding {
  return { ...aim, verdict: 'ok', found, fix: null }
}

export function bad(aim: Aim, found: string, fix: string): Finding {
  return { ...aim, verdict: 'wrong', found, fix }
}

export function advice(aim: Aim, found: string, fix: string): Finding {
  return { ...aim, verdict: 'advice', found, fix }
}

export function unknown(aim: Aim, found: string, fix: string | null = null): Finding {
  return { ...aim, verdict: 'unknown', found, fix }
}

export function notNeeded(aim: Aim, why: string): Finding {
  return { ...aim, verdict: 'not needed', found: why, fix: null }
}

const CHECK_MS_MAX = 5_000

/** A late check is `unknown`, and one that throws is `wrong`. Aborts `signal` at the end. */
export async function within(
  aim: Aim,
  check: (signal: AbortSignal) => Promise<Finding[]>,
): Promise<Finding[]> {
  const ending = new AbortController()
  try {
    const findings = await raceAbort(check(ending.signal), { timeoutMs: CHECK_MS_MAX })
    return findings ?? [unknown(aim, `no answer within ${CHECK_MS_MAX / 1_000} seconds`)]
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    return [bad(aim, found, 'Fix what the message says and run this again.')]
  } finally {
    ending.abort()
  }
}

/** Wrong findings come last, so that they are visible in a terminal. */
const ORDER: readonly Verdict[] = ['not needed', 'ok', 'unknown', 'advice', 'wrong']

/** In the sandbox, most findings would be about unused DNS, certificates and ports. */
const SANDBOX_NOTE =
  'MAILROOM_DELIVERY is sandbox. "MAILROOM_DELIVERY=direct mailroom admin doctor" (or relay) checks what real delivery needs.\n'

export function formatFindings(
  given: readonly Finding[],
  { isSandbox = false }: { isSandbox?: boolean } = {},
): string {
  const findings = given.filter((finding) => !isSandbox || concernsSandbox(finding)).map(plainly)
  const sorted = ORDER.flatMap((verdict) => findings.filter((one) => one.verdict === verdict))
  const width = Math.max(0, ...ORDER.map(({ length }) => length))
  const blocks = sorted.map((finding) => {
    const head = `${finding.verdict.padEnd(width)}  ${finding.check}`
    const { verdict, expected, found, fix } = finding
    if (verdict === 'ok' || verdict === 'not needed') return `${head}: ${found}\n`
    const lines = [head, `  expected: ${expected}`, `  found:    ${found}`]
    return `${[...lines, ...(fix === null ? [] : [`  to do:    ${fix}`])].join('\n')}\n`
  })
  return `${blocks.join('')}\n${summarise(findings)}\n${isSandbox ? SANDBOX_NOTE : ''}`
}

export function findingsJson(findings: readonly Finding[]): string {
  const report = { ok: !isAnyWrong(findings), findings: findings.map(plainly) }
  return `${JSON.stringify(report, null, 2)}\n`
}

/** In the sandbox no mail leaves, so advice on the records of a domain is omitted. */
function concernsSandbox({ check, verdict }: Finding): boolean {
  if (/^(?:custom domains$|domain )/.test(check)) return verdict === 'wrong'
  return verdict !== 'not needed'
}

/** Texts of DNS, servers and databases are hostile and must not control a terminal. */
function plainly({ check, verdict, expected, found, fix }: Finding): Finding {
  return {
    check: plainText(check),
    verdict,
    expected: plainText(expected),
    found: plainText(found),
    fix: fix === null ? null : plainText(fix),
  }
}

export function isAnyWrong(findings: readonly Finding[]): boolean {
  return findings.some(({ verdict }) => verdict === 'wrong')
}

function summarise(findings: readonly Finding[]): string {
  const count = (verdict: Verdict) => findings.filter((one) => one.verdict === verdict).length
  const wrong = count('wrong')
  const rest = `${count('advice')} to consider, ${count('unknown')} could not be checked from here`
  return wrong === 0 ? `Nothing is wrong; ${rest}.` : `${wrong} wrong; ${rest}.`
}

type Addresses = {
  readonly addresses: readonly string[]
  /** The DNS error that may hide more addresses; null if both address families were answered. */
  readonly fault: string | null
}

export type CheckContext = {
  readonly settings: Settings
  readonly resolver: Resolver
  addressesOf(host: string): Promise<Addresses>
  isOwnAddress(address: string): boolean
}

/** The caller must close `resolver`. */
export function openCheckContext(settings: Settings, resolver: Resolver): CheckContext {
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
