// Limits a process, or each of its threads, to a share of a processor with control groups, so that the limit of a
// service is known, whatever else runs on the machine. Needs root.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PERIOD_US = 100_000
/** Shorter for threads, which wait for each other. */
const THREAD_PERIOD_US = 20_000
const GROUPS = '/sys/fs/cgroup'

/**
 * Limits the process, with all of its threads, to `share` of one processor (0.5 is half of it). The returned function
 * removes the group and must be called after the process has ended. Throws where control groups are missing.
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
 * Limits each thread that runs JavaScript to `share` of one processor, and the threads that it starts later together
 * with it. The same as `holdToShare` otherwise. Throws without control groups of the first version.
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
