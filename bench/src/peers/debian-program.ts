// Mail servers from Debian's packages, unpacked and started in a mount namespace in which their
// files are at the usual paths. Nothing is installed, and packages that exclude each other can run
// together. Needs root.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programFolder } from './peer-server.ts'

export type DebianProgram = {
  /** The Debian version, such as `3.7.11-0+deb12u1`. */
  readonly version: string
  /** The folder of the package's files, which are mounted over the machine's own. */
  readonly files: string
}

/** Downloads and unpacks the package once. Throws if apt-get cannot download it. */
export function unpackDebian(name: string): DebianProgram {
  const root = programFolder(name)
  const packed = () => readdirSync(root).find((entry) => entry.endsWith('.deb'))
  const quiet = { cwd: root, stdio: 'ignore' } as const
  if (packed() === undefined) execFileSync('apt-get', ['download', name], quiet)
  const file = packed() ?? ''
  execFileSync('dpkg', ['-x', file, 'files'], quiet)
  const version = execFileSync('dpkg-deb', ['-f', file, 'Version'], { cwd: root, encoding: 'utf8' })
  return { version: version.trim(), files: join(root, 'files') }
}

export type Start = {
  program: DebianProgram
  /** A folder mounted over the machine's /etc: configuration and accounts. */
  etc: string
  /** Folders on the disk, by the path below /var at which each is mounted. */
  places?: Record<string, string>
  command: readonly string[]
}

/**
 * Starts a program in the foreground. `stop` resolves when the program and its children have ended.
 */
export function startInNamespace({ program, etc, places = {}, command }: Start): {
  child: ChildProcess
  stop(): Promise<void>
} {
  const parts = [
    'set -e',
    `mount -t overlay overlay -o lowerdir=${program.files}/usr:/usr /usr`,
    `mount -t overlay overlay -o lowerdir=${etc}:${program.files}/etc:/etc /etc`,
    'mount -t tmpfs tmpfs /run',
    // These programs look up their open files in /proc, by their pid in the namespace.
    'mount -t proc proc /proc',
    ...Object.entries(places).map(([path, folder]) => mountBelowVar(path, folder)),
    `exec ${command.join(' ')}`,
  ]
  // The program gets a pid namespace: when its first process ends, the kernel ends all others.
  const words = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', parts.join('\n')]
  const child = spawn('unshare', words, { stdio: ['ignore', 'ignore', 'inherit'] })
  return {
    child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      // unshare ignores SIGTERM, and a program that changes its user survives --kill-child.
      const inside = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      for (const pid of inside.trim().split(' ')) process.kill(Number(pid), 'SIGKILL')
      await ended
    },
  }
}

/** Replaces the parent folder with an empty one in memory, in which the path can be created. */
function mountBelowVar(path: string, folder: string): string {
  const above = path.slice(0, path.lastIndexOf('/'))
  return `mount -t tmpfs tmpfs ${above}\nmkdir ${path}\nmount --bind ${folder} ${path}`
}

/** Makes an /etc with accounts for the program, each with a group of the same name. */
export function makeEtc(folder: string, names: readonly string[]): string {
  mkdirSync(folder, { recursive: true })
  const ids = names.map((name, index) => ({ name, id: FIRST_ID + index }))
  const users = ids.map(({ name, id }) => `${name}:x:${id}:${id}::/:/usr/sbin/nologin\n`)
  const groups = ids.map(({ name, id }) => `${name}:x:${id}:\n`)
  writeFileSync(join(folder, 'passwd'), withoutOwn('/etc/passwd', names) + users.join(''))
  writeFileSync(join(folder, 'group'), withoutOwn('/etc/group', names) + groups.join(''))
  return folder
}

/** The id of the account at this index in the list given to `makeEtc`. */
export function idOf(index: number): number {
  return FIRST_ID + index
}

const FIRST_ID = 64_100

function withoutOwn(path: string, names: readonly string[]): string {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !names.includes(line.split(':')[0] ?? ''))
    .map((line) => `${line}\n`)
    .join('')
}

/** The number of files below a folder; 0 if the folder is missing. */
export function countFiles(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
    .length
}
