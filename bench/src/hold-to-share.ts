// Limits a process, or each of its threads, to a share of a processor by control groups, so that a
// service has the same limit whatever else runs on the machine. Needs root.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PERIOD_US = 100_000
/** Threads wait for each other, so their period is shorter. */
const THREAD_PERIOD_US = 20_000
const GROUPS = '/sys/fs/cgroup'

/**
 * Limits the process, including all of its threads, to `share` of one processor (0.5 is half a
 * processor). The returned function removes the group and must be called after the process has
 * ended. Throws if control groups are not available.
 */
export function holdToShare(pid: number, share: number): () => void {
  const isFirstVersion = existsSync(join(GROUPS, 'cpu'))
  const folder = join(GROUPS, isFirstVersion ? 'cpu' : '', `mailroom-bench-${pid}`)
  mkdirSync(folder)
  const quota = String(Math.round(share * PERIOD_US))
  if (isFirstVersion) {
    writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US))
    writeFileSync(join(folder, 'cpu.cfs_quota_us'), quota)
  } else {
    writeFileSync(join(folder, 'cpu.max'), `${quota} ${PERIOD_US}`)
  }
  writeFileSync(join(folder, 'cgroup.procs'), String(pid))
  return () => rmdirSync(folder)
}

/**
 * Limits each thread that runs JavaScript, together with the threads that it starts later, to
 * `share` of one processor. Otherwise like `holdToShare`. Throws without control groups of version
 * 1.
 */
export function holdThreadsToShare(pid: number, share: number): () => void {
  const folders: string[] = []
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const name = readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim()
    if (name !== 'MainThread' && name !== 'WorkerThread') continue
    const folder = join(GROUPS, 'cpu', `mailroom-bench-${pid}-${thread}`)
    mkdirSync(folder)
    folders.push(folder)
    writeFileSync(join(folder, 'cpu.cfs_period_us'), String(THREAD_PERIOD_US))
    const quota = String(Math.round(share * THREAD_PERIOD_US))
    writeFileSync(join(folder, 'cpu.cfs_quota_us'), quota)
    writeFileSync(join(folder, 'tasks'), thread)
  }
  return () => {
    for (const folder of folders) rmdirSync(folder)
  }
}
