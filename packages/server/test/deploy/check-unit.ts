// Checks the units of systemd: with systemd's own program where it is installed, and by starting them as systemd
// does, with their user, capability, folders and files.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSender } from '#test/peers/sender.ts'
import type { CheckOptions } from './check-compose.ts'
import { mountedFile, startContainer } from './container.ts'
import { readUnit, type Unit, unitEnvironment } from './read-unit.ts'

const READY_MS_MAX = 120_000
const ADDRESS = '127.77.0.9'
/** Score of `systemd-analyze security`, 0 to 10: it calls a unit below 2.5 OK. */
const EXPOSURE_MAX = 2.5

/** Throws at the first fault. */
export async function checkUnit(options: CheckOptions): Promise<void> {
  analyze(options)
  const text = readFileSync(join(options.root, 'deploy/mailroom.service'), 'utf8')
  await runUnit(readUnit(text), options)
}

function analyze({ root, scratch, tell }: CheckOptions): void {
  if (spawnSync('systemd-analyze', ['--version']).error !== undefined) {
    tell('systemd-analyze is not here: the units are only read')
    return
  }
  const folder = join(scratch, 'units')
  mkdirSync(folder)
  for (const name of ['mailroom.service', 'mailroom@.service']) {
    // It checks that the program exists, which may not be installed on this machine.
    const text = readFileSync(join(root, 'deploy', name), 'utf8')
    const there = text.replaceAll('/opt/mailroom', root.replace(/\/$/, ''))
    mountedFile(join(folder, name), there)
  }
  for (const name of ['mailroom.service', 'mailroom@one.service']) {
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', join(folder, name)])
    const lines = String(stderr)
      .split('\n')
      .filter((line) => line.includes('mailroom'))
    assert.deepEqual([status, lines], [0, []], name)
  }
  const { stdout } = spawnSync('systemd-analyze', [
    ...['security', '--offline=true', '--no-pager', join(folder, 'mailroom.service')],
  ])
  const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(String(stdout))?.[1])
  assert.ok(exposure <= EXPOSURE_MAX, `exposure ${exposure}\n${stdout}`)
  tell(`systemd-analyze has nothing to say of the units; exposure ${exposure} of 10`)
}

async function runUnit(unit: Unit, options: CheckOptions): Promise<void> {
  const { root, scratch, image, tell } = options
  const etc = join(scratch, 'etc-mailroom')
  mkdirSync(join(etc, 'tls'), { recursive: true })
  for (const path of [etc, join(etc, 'tls')]) chmodSync(path, 0o755)
  const own = [
    readFileSync(join(root, 'deploy/mailroom.env.example'), 'utf8'),
    `MAILROOM_HTTP_HOST=${ADDRESS}`,
    `MAILROOM_SMTP_HOST=${ADDRESS}`,
    'MAILROOM_SMTP_PORT=25',
    'MAILROOM_TLS_CERT=/etc/mailroom/tls/fullchain.pem',
    'MAILROOM_TLS_KEY=/etc/mailroom/tls/privkey.pem',
  ]
  mountedFile(join(etc, 'mailroom.env'), own.join('\n'))
  const state = join(scratch, 'state')
  mkdirSync(state, { mode: 0o700 })
  execFileSync('chown', [image.user, state])
  renew(options, etc)
  const container = startContainer('unit', {
    layers: image.layers,
    scratch,
    args: unit.command,
    env: unitEnvironment(unit, (path) => path.replace('/etc/mailroom', etc)),
    folder: unit.folder,
    user: `${unit.user}:${unit.group}`,
    capabilities: unit.capabilities,
    isReadOnly: true,
    mounts: [
      { from: root, to: '/opt/mailroom', isReadOnly: true },
      { from: etc, to: '/etc/mailroom', isReadOnly: true },
      { from: state, to: unit.stateFolder },
    ],
  })
  try {
    await until(() => container.output().includes('Mailroom is ready'))
    const sender = await openSender(25, ADDRESS)
    assert.equal(sender.greeting.code, 220)
    await sender.quit()
    tell(`the unit serves port 25 as ${unit.user}`)
    renew(options, etc)
    assert.equal(unit.reload, '/bin/kill -HUP $MAINPID')
    container.process.kill('SIGHUP')
    await until(() => container.output().includes('STARTTLS uses a new certificate'))
    tell('a reload takes the certificate that the deploy hook put there')
    container.process.kill('SIGTERM')
    assert.equal(await container.ended, 0)
  } catch (error) {
    tell(container.output())
    throw error
  } finally {
    container.process.kill('SIGKILL')
  }

  async function until(isSo: () => boolean): Promise<void> {
    const deadlineMs = performance.now() + READY_MS_MAX
    while (!isSo()) {
      assert.equal(container.process.exitCode, null, container.output())
      assert.ok(performance.now() < deadlineMs, 'it took too long')
      await sleep(100)
    }
  }
}

/** A certificate as certbot leaves it, and the hook that certbot then calls. */
function renew({ root, scratch, image }: CheckOptions, etc: string): void {
  const lineage = join(scratch, 'letsencrypt/live/mail.example.com')
  mkdirSync(lineage, { recursive: true })
  const pem = join(lineage, 'privkey.pem')
  const request = [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-subj', '/CN=mail.example.com', '-addext', 'subjectAltName=DNS:mail.example.com'],
    ...['-days', '90', '-keyout', pem, '-out', join(lineage, 'cert.pem')],
  ]
  execFileSync('openssl', request, { stdio: 'pipe' })
  cpSync(join(lineage, 'cert.pem'), join(lineage, 'fullchain.pem'))
  execFileSync('sh', [join(root, 'deploy/renewed-certificate.sh')], {
    env: {
      PATH: '/usr/bin:/bin',
      RENEWED_LINEAGE: lineage,
      SETTINGS_FILE: join(etc, 'mailroom.env'),
      TLS_FOLDER: join(etc, 'tls'),
      SERVICE_GROUP: image.user.split(':')[1] ?? '',
    },
  })
}
