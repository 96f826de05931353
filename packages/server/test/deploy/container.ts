// Images and containers without an engine: layers are folders that overlayfs puts on top of each other
// and of this machine's own system, which stands in for the base image; a container is a process that
// has such a root, a user without capabilities, and its own mounts. Linux, as root.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type Mount = { readonly from: string; readonly to: string; readonly isReadOnly?: boolean }

export type ContainerOptions = {
  /** The topmost first. */
  readonly layers: readonly string[]
  readonly scratch: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  /** `uid:gid` as numbers or names. */
  readonly user: string
  /** Capabilities that it keeps, such as `net_bind_service`. */
  readonly capabilities?: readonly string[]
  readonly isReadOnly?: boolean
  readonly mounts?: readonly Mount[]
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Its arguments: root, layers, whether it is writable, mounts, then the command. */
const ENTER = `
set -e
root=$1 layers=$2 upper=$3 mode=$4 mounts=$5
shift 5
mount -t overlay overlay -o "lowerdir=$layers,upperdir=$upper,workdir=$upper.work" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
printf '%s' "$mounts" | while IFS='|' read -r from to how; do
  if [ -d "$from" ]; then mkdir -p "$root$to"; else mkdir -p "$(dirname "$root$to")"; : >>"$root$to"; fi
  mount --bind "$from" "$root$to"
  [ "$how" = rw ] || mount -o remount,bind,ro "$root$to"
done
[ "$mode" = rw ] || mount -o remount,ro "$root"
exec chroot "$root" "$@"
`

let count = 0

/** The command of a process with that root, for `spawn`. */
function commandOf(options: ContainerOptions, upper: string | null): string[] {
  const { layers, scratch, env, folder, user, isReadOnly = false } = options
  const own = join(scratch, `container-${count++}`)
  const top = upper ?? join(own, 'upper')
  for (const path of [join(own, 'root'), top, `${top}.work`]) mkdirSync(path, { recursive: true })
  const [uid = '', gid = ''] = user.split(':')
  const kept = options.capabilities ?? []
  const set = ['-all', ...kept.map((name) => `+${name}`)].join(',')
  const ambient = kept.length === 0 ? [] : [`--ambient-caps=${set.replace('-all,', '')}`]
  const asUser =
    uid === '0'
      ? []
      : [
          'setpriv',
          `--reuid=${uid}`,
          `--regid=${gid}`,
          '--clear-groups',
          '--no-new-privs',
          `--inh-caps=${set}`,
          ...ambient,
          `--bounding-set=${set}`,
        ]
  const mounts = (options.mounts ?? []).map(
    ({ from, to, isReadOnly: ro = false }) => `${from}|${to}|${ro ? 'ro' : 'rw'}\n`,
  )
  const lower = [...layers, '/'].join(':')
  const place = [join(own, 'root'), lower, top, isReadOnly ? 'ro' : 'rw', mounts.join('')]
  const variables = Object.entries({ PATH, HOME: '/', ...env }).map(([name, value]) => {
    return `${name}=${value}`
  })
  const inside = ['sh', '-c', 'cd "$0" && exec "$@"', folder, ...options.args]
  return [
    ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c', ENTER, 'sh', ...place],
    ...[...asUser, 'env', '-i', ...variables, ...inside],
  ]
}

/** Runs to its end in the image itself, as a step of its build; `layers` are those below `upper`. */
export async function runStep(options: ContainerOptions, upper: string): Promise<void> {
  const [file = '', ...args] = commandOf(options, upper)
  try {
    await promisify(execFile)(file, args, { maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${options.args.join(' ')}\n${stdout.slice(-3_000)}${stderr.slice(-3_000)}`)
  }
}

export type Container = {
  readonly name: string
  readonly process: ChildProcess
  /** The exit code. */
  readonly ended: Promise<number | null>
  output(): string
  /** Runs another process with the same root and settings; returns its exit code and output. */
  execute(args: readonly string[]): Promise<{ code: number | null; output: string }>
}

const OUTPUT_LENGTH_MAX = 200_000

/** Starts it; the command is the process itself, so that signals reach it. */
export function startContainer(name: string, options: ContainerOptions): Container {
  const [file = '', ...args] = commandOf(options, null)
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_LENGTH_MAX)
    })
  }
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    name,
    process: child,
    ended,
    output: () => output,
    async execute(more) {
      const other = startContainer(name, { ...options, args: more })
      const code = await other.ended
      return { code, output: other.output() }
    },
  }
}

/** A file with this text, for a mount. */
export function mountedFile(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode: 0o444 })
  return path
}
