// Limits a process to a share of a processor with a control group, so that the limit of a service is known,
// whatever else runs on the machine. Needs root.

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PERIOD_US = 100_000
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
