// Haraka from npm, in one process as by default. It has no store, so a plugin writes and syncs one
// file per message.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countFiles } from './debian-program.ts'
import { type PeerServer, programFolder, untilAnswering } from './peer-server.ts'

/** Starts Haraka in `folder`, which must be on the measured disk. */
export async function startHaraka(folder: string, port: number): Promise<PeerServer> {
  const program = join(install(), 'node_modules/haraka')
  const home = join(folder, 'haraka')
  const config = join(home, 'config')
  const mail = join(folder, 'haraka-mail')
  for (const path of [config, join(home, 'plugins'), mail]) mkdirSync(path, { recursive: true })
  writeFileSync(join(config, 'smtp.ini'), `listen=127.0.0.1:${port}\nnodes=0\n`)
  writeFileSync(join(config, 'plugins'), 'rcpt_to.in_host_list\nsynced_files\n')
  writeFileSync(join(config, 'host_list'), 'mailroom.localhost\n')
  writeFileSync(join(config, 'me'), 'mx.mailroom.localhost\n')
  writeFileSync(join(config, 'log.ini'), 'level=error\n')
  // Without this file of defaults, which `haraka -i` also copies, Haraka crashes at the first
  // connection.
  copyFileSync(join(program, 'config/connection.ini'), join(config, 'connection.ini'))
  copyFileSync(new URL('haraka-queue.cjs', import.meta.url), join(home, 'plugins/synced_files.js'))
  const { version } = JSON.parse(readFileSync(join(program, 'package.json'), 'utf8')) as {
    version: string
  }
  const child = spawn(process.execPath, [join(program, 'bin/haraka'), '-c', home], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, BENCH_HARAKA_MAIL: mail },
  })
  await untilAnswering(port)
  return {
    name: `Haraka ${version}`,
    port,
    does: 'a plugin of ours writes and syncs one file before the answer',
    countDelivered: async () => countFiles(mail),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Haraka's folder. The first call installs the newest release of its major version. */
function install(): string {
  const folder = programFolder('haraka')
  if (existsSync(join(folder, 'node_modules/haraka'))) return folder
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const words = ['install', '--ignore-scripts', '--no-audit', 'haraka@3']
  execFileSync('npm', words, { cwd: folder, stdio: 'ignore' })
  return folder
}
