// Where the files of a test run lie: in memory where the system has room for them there, because a disk
// that has to write down every commit of hundreds of services is waited for more than worked with. Every
// sync is asked for as ever.

import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { guard } from '#test/crash/guard.ts'

/** Linux has it; elsewhere the usual folder is used. */
const MEMORY = '/dev/shm'
const PREFIX = 'mailroom-tests-'
/** Files of a whole run take up to three GiB; the rest is for its processes. */
const FREE_BYTES_MIN = 8 * 2 ** 30
/** Read and entered by the user that PostgreSQL runs as. */
const SHARED = 0o755

/** A folder in memory and its end, or null where there is no room for one. */
export async function openMemoryFolder(): Promise<{
  path: string
  remove(): Promise<void>
} | null> {
  if (!(await hasRoom())) return null
  await removeForgotten()
  const path = await mkdtemp(join(MEMORY, `${PREFIX}${process.pid}-`))
  await chmod(path, SHARED)
  // After what PostgreSQL's own guard does.
  const lift = guard('sleep 15; rm -rf "$1"', path)
  return {
    path,
    async remove() {
      await rm(path, { recursive: true, force: true })
      lift()
    },
  }
}

async function hasRoom(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(MEMORY)
    const meminfo = await readFile('/proc/meminfo', 'utf8')
    const availableBytes = Number(/MemAvailable: +(\d+) kB/.exec(meminfo)?.[1]) * 1_024
    return Math.min(bavail * bsize, availableBytes) >= FREE_BYTES_MIN
  } catch {
    return false
  }
}

/** Of runs whose machine gave nobody the time to clean up. */
async function removeForgotten(): Promise<void> {
  for (const name of await readdir(MEMORY)) {
    const pid = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : undefined
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    await rm(join(MEMORY, name), { recursive: true, force: true })
  }
}
