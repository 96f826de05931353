import { createSocket } from 'node:dgram'
import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { databasePath } from '#app/open-store.ts'
import type { Settings } from '#config/settings.ts'
import { systemClock } from '#platform/clock.ts'
import type { SchemaState } from '#platform/db/migrate.ts'
import { inspectPostgres } from '#platform/db/postgres.ts'
import { inspectSqlite } from '#platform/db/sqlite.ts'
import { inspectDataKey, secretKeyPath } from '#secrets/secrets.ts'
import type { ReadDb } from '#store/tables.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded, unknown } from './finding.ts'

const OTHERS = 0o077
const MIB = 1024 * 1024
/** Room for some days of mail. */
const FREE_BYTES_ADVISED = 2048 * MIB
/** Room for a few of the largest messages. */
const FREE_BYTES_MIN = 256 * MIB

export function checkMachine(settings: Settings): Finding[] {
  const { dataDir } = settings
  return [
    checkFolder(settings),
    checkKeyFile(settings),
    checkDisk(dataDir),
    checkFirstApprover(settings),
  ]
}

/** Either setting may be right, depending on who receives an account's first key. */
function checkFirstApprover({ firstApprover }: Settings): Finding {
  const aim: Aim = {
    check: 'first approver',
    expected: 'created before an agent gets a key, or only on this machine',
  }
  return good(
    aim,
    firstApprover === 'machine'
      ? 'only this machine creates the first approver of an account'
      : 'any API key creates the first approver of its account (MAILROOM_FIRST_APPROVER)',
  )
}

function checkFolder({ dataDir }: Settings): Finding {
  const aim: Aim = { check: 'data directory', expected: `${dataDir} with mode 0700` }
  if (!existsSync(dataDir)) {
    return bad(aim, 'it is not there', 'Start the service once, or set MAILROOM_DATA_DIR.')
  }
  return judgeMode(aim, dataDir, '0700')
}

function checkKeyFile(settings: Settings): Finding {
  const file = secretKeyPath(settings)
  const aim: Aim = { check: 'key file', expected: `${file} with mode 0600` }
  if (!existsSync(file)) return notNeeded(aim, `there is no ${file}`)
  return judgeMode(aim, file, '0600')
}

function judgeMode(aim: Aim, path: string, wanted: string): Finding {
  const mode = statSync(path).mode & 0o777
  const text = `${path} has mode ${mode.toString(8).padStart(4, '0')}`
  if ((mode & OTHERS) === 0) return good(aim, text)
  return bad(aim, `${text}: other users can read it`, `Run: chmod ${wanted} ${path}`)
}

/** The data directory may not exist yet. */
function checkDisk(dataDir: string): Finding {
  let folder = dataDir
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  const { bavail, bsize, blocks } = statfsSync(folder)
  return judgeDisk({ folder, freeBytes: bavail * bsize, totalBytes: blocks * bsize })
}

/** Advises 2 GiB, or a tenth of a smaller disk. Below 256 MiB, mail will soon be refused. */
export function judgeDisk(disk: {
  folder: string
  freeBytes: number
  totalBytes: number
}): Finding {
  const { folder, freeBytes, totalBytes } = disk
  const advised = Math.min(FREE_BYTES_ADVISED, totalBytes / 10)
  const aim: Aim = { check: 'disk', expected: `${mib(advised)} free at ${folder}` }
  const text = `${mib(freeBytes)} of ${mib(totalBytes)} free at ${folder}`
  const fix = `Free space at ${join(folder)}: with a full disk the service refuses mail.`
  if (freeBytes < Math.min(FREE_BYTES_MIN, advised / 2)) return bad(aim, text, fix)
  return freeBytes < advised ? advice(aim, text, fix) : good(aim, text)
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB).toLocaleString('en')} MiB`
}

/** Empty without a bucket. Sends no more requests once `signal` is aborted. */
export async function checkBlobs(settings: Settings, signal: AbortSignal): Promise<Finding[]> {
  const { blobStore } = settings
  if (typeof blobStore === 'string') return []
  const { bucket, endpoint } = blobStore
  const aim: Aim = { check: 'large messages', expected: `the bucket ${bucket} at ${endpoint}` }
  const { openS3Blobs } = await import('#platform/blobs/s3-blobs.ts')
  const blobs = await openS3Blobs(blobStore, { requestMs: REQUEST_MS, retryMs: RETRY_MS })
  signal.addEventListener('abort', () => void blobs.close(), { once: true })
  try {
    const obstacle = await blobs.findObstacle({ writes: false })
    if (obstacle === null) return [good(aim, `${aim.expected} can be listed and read`)]
    if (obstacle.kind === 'refused') return [bad(aim, obstacle.text, 'Correct MAILROOM_BLOB_URL.')]
    const fix = 'Messages over 128 KiB are deferred until it is back.'
    return [unknown(aim, obstacle.text, fix)]
  } finally {
    await blobs.close()
  }
}

/** Below CHECK_MS_MAX, so that the finding names the unresponsive server. */
const REQUEST_MS = 4_000
const RETRY_MS = 500

export type DatabaseReport = {
  readonly findings: Finding[]
  /** Whether the database can be opened without a migration. */
  readonly isCurrent: boolean
}

/** Opens the database read-only: creates, migrates and writes nothing. */
export async function checkDatabase(settings: Settings): Promise<DatabaseReport> {
  const { databaseUrl } = settings
  const what = databaseUrl === null ? databasePath(settings) : 'PostgreSQL'
  const aim: Aim = { check: 'database', expected: `${what}, reachable, with the current schema` }
  if (databaseUrl === null && !existsSync(databasePath(settings))) {
    const fix = 'Start the service, which creates it, or set MAILROOM_DATA_DIR to its folder.'
    return { findings: [bad(aim, 'it is not there', fix)], isCurrent: false }
  }
  let state: SchemaState
  try {
    state =
      databaseUrl === null
        ? inspectSqlite(databasePath(settings))
        : await inspectPostgres(databaseUrl)
  } catch (error) {
    const found = error instanceof Error ? error.message || error.name : String(error)
    const fix =
      databaseUrl === null
        ? 'Restore it from a backup.'
        : 'Start PostgreSQL, or correct MAILROOM_DATABASE_URL.'
    return { findings: [bad(aim, found, fix)], isCurrent: false }
  }
  const clock = state.aheadMs === null ? [] : [judgeClock('the clock of PostgreSQL', state.aheadMs)]
  const schema = judgeSchema(aim, state)
  return { findings: [schema, ...clock], isCurrent: schema.verdict === 'ok' }
}

function judgeSchema(aim: Aim, { plan: { pending, refusal } }: SchemaState): Finding {
  if (refusal !== null)
    return bad(aim, refusal, 'Run the version that the database was made with (docs/upgrading.md).')
  if (pending.length === 0) return good(aim, `${aim.expected}`)
  const names = pending.map(({ name }) => name).join(', ')
  return bad(
    aim,
    `its schema lacks ${names}`,
    'Start the service, or run "mailroom admin migrate".',
  )
}

export async function checkSecretKey(settings: Settings, db: ReadDb): Promise<Finding> {
  const aim: Aim = {
    check: 'secret key',
    expected: 'the key that decrypts the secrets in the database',
  }
  switch (await inspectDataKey({ settings, db })) {
    case 'absent':
      return notNeeded(aim, 'there are no secrets yet')
    case 'sealed':
      return good(aim, 'it is here')
    case 'plain':
      return advice(
        aim,
        'none: anyone who can read the database can read the DKIM keys',
        'Set MAILROOM_SECRET_KEY to 32 random bytes, for example from: openssl rand -base64 32',
      )
    case 'not here':
      return bad(
        aim,
        'no key, or not the one that encrypted them',
        'Set MAILROOM_SECRET_KEY to the key the service was started with, or restore secret.key.',
      )
  }
}

/** Receivers refuse signatures from the future; webhook signatures are valid for five minutes. */
const OFF_MS_MAX = 60_000
const OFF_MS_ADVISED = 5_000
const NTP_PORT = 123
const NTP_PACKET_BYTES = 48
const CLIENT_VERSION_4 = 0x23
const TRANSMIT_OFFSET = 40
/** Seconds from 1900, the epoch of NTP, to 1970. */
const NTP_EPOCH_SECONDS = 2_208_988_800

/** `aheadMs` is how far the other clock is ahead of this machine's clock. */
function judgeClock(which: string, aheadMs: number): Finding {
  const aim: Aim = { check: 'clock', expected: `within ${OFF_MS_ADVISED / 1_000} s of ${which}` }
  const off = (Math.abs(aheadMs) / 1_000).toFixed(1)
  const found = `${off} s ${aheadMs > 0 ? 'behind' : 'ahead of'} ${which}`
  const fix = 'Synchronise both clocks with a time server, for example with chrony or timesyncd.'
  if (Math.abs(aheadMs) > OFF_MS_MAX) return bad(aim, found, fix)
  return Math.abs(aheadMs) > OFF_MS_ADVISED ? advice(aim, found, fix) : good(aim, found)
}

export function clockUnasked(): Finding {
  return unknown(
    { check: 'clock', expected: 'the correct time' },
    'no clock to compare with',
    'Run this with --ntp <server>, such as --ntp pool.ntp.org.',
  )
}

/** `server` is a host, optionally with a port. Rejects when `signal` is aborted. */
export async function checkTimeServer(server: string, signal: AbortSignal): Promise<Finding> {
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(server) ?? []
  const question = Buffer.alloc(NTP_PACKET_BYTES)
  question[0] = CLIENT_VERSION_4
  const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4', signal })
  const sentMs = systemClock.now()
  const answer = new Promise<Buffer>((resolve, reject) => {
    socket.on('message', resolve)
    socket.on('error', reject)
    socket.send(question, port === undefined ? NTP_PORT : Number(port), host, (error) => {
      if (error !== null) reject(error)
    })
  })
  const packet = await answer
  const middleMs = (sentMs + systemClock.now()) / 2
  const timeMs = readTransmitTime(packet)
  if (timeMs === null) {
    const aim: Aim = { check: 'clock', expected: `the time of ${server}` }
    return unknown(aim, 'it answered without a time', 'Name another time server.')
  }
  return judgeClock(`the time server ${server}`, Math.round(timeMs - middleMs))
}

/** Null if the packet is not an answer, or the server is not synchronized (stratum 0). */
function readTransmitTime(packet: Buffer): number | null {
  const mode = (packet[0] ?? 0) & 0b111
  const stratum = packet[1] ?? 0
  if (packet.length < NTP_PACKET_BYTES || mode !== 4 || stratum === 0) return null
  const seconds = packet.readUInt32BE(TRANSMIT_OFFSET) - NTP_EPOCH_SECONDS
  const fraction = packet.readUInt32BE(TRANSMIT_OFFSET + 4) / 2 ** 32
  return (seconds + fraction) * 1_000
}
