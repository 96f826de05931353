// Checks this machine as a mail host from within. Changes nothing and sends no mail.

import { openToRead } from '#app/open-store.ts'
import { checkAssistants } from '#commands/doctor/check-assistants.ts'
import {
  checkInboxDomain,
  checkNames,
  DOMAINS_MS_MAX,
  examineDomains,
  isNowhere,
} from '#commands/doctor/check-dns.ts'
import {
  checkBlobs,
  checkDatabase,
  checkMachine,
  checkSecretKey,
  checkTimeServer,
  clockUnasked,
} from '#commands/doctor/check-machine.ts'
import {
  checkCertificate,
  checkListener,
  checkMailHosts,
  checkPortOut,
  checkRelay,
} from '#commands/doctor/check-mail.ts'
import {
  type Aim,
  advice,
  bad,
  type CheckContext,
  type Finding,
  findingsJson,
  formatFindings,
  good,
  isAnyWrong,
  notNeeded,
  openCheckContext,
  unknown,
  within,
} from '#commands/doctor/finding.ts'
import type { Settings } from '#config/settings.ts'
import { systemClock } from '#platform/clock.ts'
import { openResolver, type Resolver } from '#platform/dns/resolver.ts'
import type { ReadDb } from '#store/tables.ts'
import { CommandFailure, loadSettings } from './command.ts'

export type DoctorOptions = { json?: boolean; ntp?: string }

/** Sets exit code 1 if a finding is wrong. */
export async function doctor({ json = false, ntp }: DoctorOptions): Promise<void> {
  const { findings, isSandbox } = await readAndExamine(ntp ?? null)
  process.stdout.write(json ? findingsJson(findings) : formatFindings(findings, { isSandbox }))
  if (isAnyWrong(findings)) process.exitCode = 1
}

/** A DNS query takes at most twice as long, which is below CHECK_MS_MAX. */
const DNS_TRY_MS = 2_000

async function readAndExamine(
  ntp: string | null,
): Promise<{ findings: Finding[]; isSandbox: boolean }> {
  const aim: Aim = { check: 'settings', expected: 'settings that can be read' }
  let loaded: { settings: Settings; warnings: string[] }
  try {
    loaded = loadSettings()
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    const found = error.message.replaceAll(/\s*\n\s*/g, ' ')
    const fix = 'Correct these settings; nothing else can be checked until then.'
    return { findings: [bad(aim, found, fix)], isSandbox: false }
  }
  const { settings, warnings } = loaded
  const read: Finding =
    warnings.length === 0
      ? good(aim, 'all could be read')
      : advice(aim, warnings.join('; '), 'Correct these settings.')
  const findings = [read, ...(await examine(settings, ntp))]
  return { findings, isSandbox: settings.delivery === 'sandbox' }
}

/** `ntp` names a time server. Takes some seconds, plus up to `domainsMs` for custom domains. */
export async function examine(
  settings: Settings,
  ntp: string | null,
  { domainsMs = DOMAINS_MS_MAX }: { domainsMs?: number } = {},
): Promise<Finding[]> {
  const resolver = openResolver({ servers: settings.dnsServers, timeoutMs: DNS_TRY_MS })
  try {
    return await examineMachine(openCheckContext(settings, resolver), { ntp, domainsMs })
  } finally {
    resolver.close()
  }
}

async function examineMachine(
  context: CheckContext,
  { ntp, domainsMs }: { ntp: string | null; domainsMs: number },
): Promise<Finding[]> {
  const { settings } = context
  const machine = await within({ check: 'disk', expected: 'a readable disk' }, async () =>
    checkMachine(settings),
  )
  const database = await checkDatabase(settings)
  const dns = await within(dnsAim(settings), () => checkDns(context))
  const isDnsThere = dns.every(({ verdict }) => verdict === 'ok')
  const blobs: Aim = { check: 'large messages', expected: 'the bucket of MAILROOM_BLOB_URL' }
  const groups = await Promise.all([
    within(blobs, (signal) => checkBlobs(settings, signal)),
    examineClock(ntp, { known: database.findings, isSandbox: settings.delivery === 'sandbox' }),
    examineNetwork(context, { isDnsThere }),
    examineStored(context, { isCurrent: database.isCurrent, isDnsThere, domainsMs }),
  ])
  return [...machine, ...database.findings, ...dns, ...groups.flat()]
}

async function examineClock(
  ntp: string | null,
  { known, isSandbox }: { known: Finding[]; isSandbox: boolean },
): Promise<Finding[]> {
  if (ntp === null) {
    // In the sandbox, mail stays on this machine, so a wrong clock is harmless.
    if (isSandbox || known.some(({ check }) => check === 'clock')) return []
    return [clockUnasked()]
  }
  const aim: Aim = { check: 'clock', expected: `the time of ${ntp}` }
  return within(aim, async (signal) => [await checkTimeServer(ntp, signal)])
}

async function examineNetwork(
  context: CheckContext,
  { isDnsThere }: { isDnsThere: boolean },
): Promise<Finding[]> {
  const { settings } = context
  const { inboxDomain, delivery, smtpHost, smtpPort } = settings
  const door: Aim = { check: 'mail door', expected: `${smtpHost}:${smtpPort} answers` }
  const host: Aim = { check: 'mail host', expected: `the MX of ${inboxDomain} answers` }
  const out: Aim = { check: 'port out', expected: 'connections to other mail servers' }
  const names: Aim = { check: 'name', expected: 'addresses and their names' }
  const assistants: Aim = { check: 'assistants', expected: 'assistants can sign in' }
  const needsHosts = delivery !== 'sandbox' && !(isDnsThere && (await isNowhere(context)))
  const byDns = (aim: Aim, check: (signal: AbortSignal) => Promise<Finding[]>) =>
    isDnsThere || delivery === 'sandbox'
      ? within(aim, check)
      : Promise.resolve([unknown(aim, 'DNS does not answer')])
  const groups = await Promise.all([
    within(door, async (signal) => [await checkListener(settings, signal)]),
    within({ check: 'certificate', expected: 'a certificate' }, async () => [
      checkCertificate(settings, systemClock.now()),
    ]),
    needsHosts
      ? byDns(host, (signal) => checkMailHosts(context, signal))
      : [notNeeded(host, `${inboxDomain} takes no mail from outside with these settings`)],
    byDns(out, async (signal) => [await checkPortOut(context, signal)]),
    within({ check: 'relay', expected: 'the relay answers' }, async (signal) => [
      await checkRelay(context, signal),
    ]),
    byDns(names, () => checkNames(context)),
    within(assistants, async (signal) => [await checkAssistants(settings, signal)]),
  ])
  return groups.flat()
}

async function examineStored(
  context: CheckContext,
  given: { isCurrent: boolean; isDnsThere: boolean; domainsMs: number },
): Promise<Finding[]> {
  const { isCurrent, isDnsThere, domainsMs: withinMs } = given
  const { settings } = context
  const records: Aim = {
    check: `records of ${settings.inboxDomain}`,
    expected: 'MX, SPF, DKIM and DMARC',
  }
  const checkOwn = (db: ReadDb | null) =>
    isDnsThere || settings.delivery === 'sandbox'
      ? within(records, () => checkInboxDomain(context, db))
      : Promise.resolve([unknown(records, 'DNS does not answer')])
  if (!isCurrent) return checkOwn(null)
  const db = await openToRead(settings)
  try {
    const key: Aim = { check: 'secret key', expected: 'the key of the secrets' }
    const groups = await Promise.all([
      within(key, async () => [await checkSecretKey(settings, db)]),
      checkOwn(db),
      examineDomains(context, db, { isDnsThere, withinMs }),
    ])
    return groups.flat()
  } finally {
    await db.close()
  }
}

function dnsAim({ dnsServers }: Settings): Aim {
  const servers = dnsServers.length === 0 ? "the system's DNS servers" : dnsServers.join(', ')
  return { check: 'DNS', expected: `${servers} answer` }
}

/** Any answer, even that the name does not exist, shows that DNS works. */
async function checkDns({ settings, resolver }: { settings: Settings; resolver: Resolver }) {
  const aim = dnsAim(settings)
  const answer = await resolver.mx(settings.inboxDomain)
  if (answer.kind !== 'fault') return [good(aim, 'they do')]
  const fix = 'Set MAILROOM_DNS_SERVERS to resolvers that answer this machine.'
  const judge = settings.delivery === 'sandbox' ? advice : bad
  return [judge(aim, answer.text, fix)]
}
