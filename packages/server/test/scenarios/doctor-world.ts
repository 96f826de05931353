// A machine on which every check of the doctor passes, with a DNS server; tests break one thing and check again.

import assert from 'node:assert/strict'
import type { Finding } from '#commands/doctor/finding.ts'
import { examine } from '#commands/doctor.ts'
import { readSettings } from '#config/read-settings.ts'
import type { Engine } from '#platform/db/db.ts'
import { inStrings } from '#test/conformance/dkim-place.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { findFreePorts } from '#test/peers/free-port.ts'
import { emptyPlace, type Place, type ServiceProcess } from '#test/scenarios/service-process.ts'

export const DOMAIN = 'agents.mail-service.dev'
export const HOST = 'mx.mail-service.dev'
export const ADDRESS = '127.0.0.1'
export const PTR_NAME = '1.0.0.127.in-addr.arpa'

export type DoctorWorld = {
  readonly place: Place
  readonly service: ServiceProcess
  readonly dns: Dns
  /** Where everything is right; a copy for each change. */
  readonly rightZone: Zone
  readonly env: Record<string, string>
  readonly port: number
  /** Runs the checks as the command does, with further settings; `ntp` as on its command line. */
  ask(changes?: Record<string, string>, ntp?: string): Promise<Diagnosis>
  /** Runs the command in a process of its own. */
  run(changes?: Record<string, string>): Promise<Diagnosis & { code: number | null }>
  close(): Promise<void>
}

export type Diagnosis = {
  readonly findings: Finding[]
  readonly tookMs: number
  /** Verdicts of the findings whose check begins with this, in order. */
  of(check: string): string[]
  /** The advice of the same findings. */
  fixOf(check: string): string
}

/** A service in direct mode, reachable within one machine. */
export async function openDoctorWorld(engine: Engine): Promise<DoctorWorld> {
  const [place, dns, ports] = await Promise.all([emptyPlace(engine), openDns(), findFreePorts(1)])
  const [port = 0] = ports
  const env = {
    MAILROOM_INBOX_DOMAIN: DOMAIN,
    MAILROOM_SMTP_HOSTNAME: HOST,
    MAILROOM_SMTP_PORT: String(port),
    MAILROOM_MX_PORT: String(port),
    MAILROOM_DELIVERY: 'direct',
    MAILROOM_DNS_SERVERS: dns.server,
    MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
    MAILROOM_BOOTSTRAP_API_KEY: 'key-of-the-doctor-0123456789',
    // The service makes its own certificate, as for an operator who gives none.
    MAILROOM_TLS_CERT: '',
    MAILROOM_TLS_KEY: '',
    ...(engine === 'postgres' && { MAILROOM_SECRET_KEY: 'ab'.repeat(32) }),
  }
  const { databaseUrl } = place
  const url = databaseUrl === null ? {} : { MAILROOM_DATABASE_URL: databaseUrl }
  const service = place.start(env)
  await service.ready
  const { output } = await place.commandWith(env, 'admin', 'dns')
  const rightZone = zoneFrom(output)
  dns.zone = { ...rightZone }
  return {
    place,
    service,
    dns,
    rightZone,
    env,
    port,
    async ask(changes = {}, ntp) {
      const startMs = performance.now()
      const reading = readSettings({ MAILROOM_DATA_DIR: place.dataDir, ...url, ...env, ...changes })
      if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
      const findings = await examine(reading.settings, ntp ?? null)
      return { ...diagnose(findings), tookMs: performance.now() - startMs }
    },
    async run(changes = {}) {
      const startMs = performance.now()
      const { code, output } = await place.commandWith(
        { ...env, ...changes },
        'admin',
        'doctor',
        '--json',
      )
      const { findings, ok } = JSON.parse(output) as { ok: boolean; findings: Finding[] }
      assert.equal(code, ok ? 0 : 1, output)
      return { ...diagnose(findings), code, tookMs: performance.now() - startMs }
    },
    async close() {
      await place.remove()
      await dns.close()
    },
  }
}

/** The records of `mailroom admin dns`, and the names of the host and of one large receiver. */
function zoneFrom(table: string): Zone {
  const texts = [...table.matchAll(/ TXT +(\S+) +(\S.*)$/gm)].map(([, name = '', text = '']) => [
    name,
    { TXT: [inStrings(text)] },
  ])
  const zone: Zone = Object.fromEntries(texts)
  assert.equal(texts.length, 5, table)
  return {
    ...zone,
    [DOMAIN]: { ...entryOf(zone, DOMAIN), MX: [{ exchange: HOST, preference: 10 }] },
    [HOST]: { ...entryOf(zone, HOST), A: [ADDRESS] },
    [PTR_NAME]: { PTR: [HOST] },
    'gmail.com': { MX: [{ exchange: 'mx.receiver.example', preference: 5 }] },
    'mx.receiver.example': { A: [ADDRESS] },
  }
}

/** The records of a name, to be changed in part. */
export function entryOf(zone: Zone, name: string) {
  const entry = zone[name]
  return typeof entry === 'object' ? entry : {}
}

function diagnose(findings: Finding[]): Omit<Diagnosis, 'tookMs'> {
  for (const { check, verdict, expected, found, fix } of findings) {
    assert.ok(check !== '' && expected !== '' && found !== '', JSON.stringify(findings))
    if (verdict === 'wrong' || verdict === 'advice') assert.ok(fix, check)
  }
  const named = (check: string) => findings.filter((one) => one.check.startsWith(check))
  return {
    findings,
    of: (check) => named(check).map(({ verdict }) => verdict),
    fixOf: (check) =>
      named(check)
        .map(({ fix }) => fix ?? '')
        .join('\n'),
  }
}
