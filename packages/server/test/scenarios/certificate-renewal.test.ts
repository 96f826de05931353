import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { Log } from '#platform/log.ts'
import {
  type Certificate,
  makeSelfSignedCertificate,
  openServerTls,
} from '#platform/tls/server-tls.ts'
import { openSender, type Sender } from '#test/peers/sender.ts'
import { openWorld } from '#test/world.ts'

const NAME = 'mail.example'
const TEN_YEARS_AND_A_DAY_MS = 3_653 * 24 * 60 * 60 * 1_000
const WAIT_MS_MAX = 20_000

let folder: string
let first: Certificate
let second: Certificate
let ended: Certificate

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailroom-renewal-'))
  const make = (atMs: number) => makeSelfSignedCertificate(NAME, atMs)
  const now = Date.now()
  ;[first, second, ended] = await Promise.all([
    make(now),
    make(now),
    make(now - TEN_YEARS_AND_A_DAY_MS),
  ])
})
after(() => rm(folder, { recursive: true, force: true }))

/** The paths of the two files, and how one pair replaces another. */
async function openFiles(pair: Certificate) {
  const place = await mkdtemp(join(folder, 'live-'))
  const files = { cert: join(place, 'fullchain.pem'), key: join(place, 'privkey.pem') }
  let count = 0
  /** As ACME clients do: a new file, and a link switched to it. */
  const link = async (name: string, text: string) => {
    const [file, draft] = [join(place, `archive-${count++}.pem`), join(place, 'draft')]
    await writeFile(file, text)
    await symlink(file, draft)
    await rename(draft, name)
  }
  const put = async ({ certificatePem, privateKeyPem }: Certificate) => {
    await link(files.cert, certificatePem)
    await link(files.key, privateKeyPem)
  }
  await put(pair)
  return { files, put }
}

function recordingLog() {
  const lines: string[] = []
  const note = (level: string) => (fields: object, text: string) => {
    const { error } = fields as { error?: Error }
    lines.push(`${level} ${text}${error === undefined ? '' : `: ${error.message}`}`)
  }
  const log: Log = {
    debug: note('debug'),
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
  }
  return { log, lines, about: () => lines.filter((line) => /certificate/.test(line)) }
}

/** The certificate that a client sees after STARTTLS. */
async function shownTo(sender: Sender): Promise<string> {
  assert.equal((await sender.command('STARTTLS')).code, 220)
  sender.socket.removeAllListeners('data')
  const secure = connect({ socket: sender.socket, rejectUnauthorized: false })
  await new Promise((resolve, reject) => {
    secure.once('secureConnect', resolve).once('error', reject)
  })
  const { fingerprint256 } = secure.getPeerCertificate()
  secure.destroy()
  return fingerprint256
}

async function shown(port: number): Promise<string> {
  return shownTo(await openSender(port))
}

const fingerprint = ({ certificatePem }: Certificate) =>
  new X509Certificate(certificatePem).fingerprint256

test('a renewed certificate is used without a restart, even on open connections', async () => {
  const { files, put } = await openFiles(first)
  const env = { MAILROOM_TLS_CERT: files.cert, MAILROOM_TLS_KEY: files.key }
  const { log, about } = recordingLog()
  await using world = await openWorld('sqlite', { env, log })
  assert.equal(await shown(world.smtpPort), fingerprint(first))
  const open = await openSender(world.smtpPort)
  await put(second)
  await world.app.reloadCertificate()
  assert.equal(await shownTo(open), fingerprint(second))
  assert.equal(await shown(world.smtpPort), fingerprint(second))
  await world.app.reloadCertificate()
  assert.deepEqual(about(), [
    'info STARTTLS uses a new certificate',
    'info STARTTLS keeps its certificate',
  ])
})

test('bad files change nothing, are reported once, and are used when they are repaired', async (t) => {
  const { files, put } = await openFiles(first)
  const { log, lines } = recordingLog()
  const settings = { tlsFiles: files, dataDir: folder, smtpHostname: NAME }
  const tls = await openServerTls(settings, { now: Date.now, log, checkEveryMs: 3_600_000 })
  t.after(() => tls.close())
  const before = tls.current()
  const bad: [Certificate, RegExp][] = [
    [{ ...second, certificatePem: 'no certificate' }, /no start line/i],
    [{ ...second, privateKeyPem: first.privateKeyPem }, /mismatch/],
    [ended, /it ended at /],
  ]
  for (const [pair, why] of bad) {
    await put(pair)
    await tls.reload()
    assert.equal(tls.current(), before)
    const line = lines.pop() ?? ''
    assert.match(line, why)
    assert.match(line, /^error .* keeps the old one/)
    assert.equal(lines.length, 0)
  }
  await rm(files.key)
  await tls.reload()
  assert.equal(tls.current(), before)
  assert.match(lines.pop() ?? '', /ENOENT/)
  await put(second)
  await tls.reload()
  assert.notEqual(tls.current(), before)
})

test('files are checked periodically, and a fault is reported once', async (t) => {
  const { files, put } = await openFiles(first)
  const { log, lines } = recordingLog()
  const settings = { tlsFiles: files, dataDir: folder, smtpHostname: NAME }
  const tls = await openServerTls(settings, { now: Date.now, log, checkEveryMs: 5 })
  t.after(() => tls.close())
  const before = tls.current()
  const deadlineMs = performance.now() + WAIT_MS_MAX
  const until = async (isSo: () => boolean) => {
    while (!isSo() && performance.now() < deadlineMs) await sleep(5)
    assert.ok(isSo(), lines.join('\n'))
  }
  await writeFile(files.key, 'no key')
  await until(() => lines.length > 0)
  await sleep(100)
  assert.equal(lines.length, 1)
  assert.equal(tls.current(), before)
  await put(second)
  await until(() => tls.current() !== before)
  assert.equal(lines.at(-1), 'info STARTTLS uses a new certificate')
})
