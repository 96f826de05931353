// A disk of a few megabytes that a test can fill: a mounted tmpfs, where mounting is allowed.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { guard } from './guard.ts'

export type SmallDisk = {
  readonly path: string
  /** Fills the disk with files that are not the service's. */
  fill(): Promise<void>
  /** Removes the files of `fill`. */
  clear(): Promise<void>
  /** Unmounts it with everything on it. */
  remove(): Promise<void>
}

const run = promisify(execFile)

/** Null where this user may not mount. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | null> {
  const path = await mkdtemp(join(tmpdir(), 'mailroom-disk-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  } catch {
    await rm(path, { recursive: true })
    return null
  }
  const lift = guard('sleep 1; umount -l "$1"; rmdir "$1"', path)
  const others = join(path, 'others')
  await mkdir(others)
  let number = 0
  return {
    path,
    async fill() {
      // Smaller and smaller files, until no page is left.
      for (let bytes = 1 << 20; bytes >= 4_096; ) {
        try {
          number += 1
          await writeFile(join(others, String(number)), Buffer.alloc(bytes))
        } catch {
          bytes /= 2
        }
      }
    },
    async clear() {
      await rm(others, { recursive: true })
      await mkdir(others)
    },
    async remove() {
      await run('umount', ['-l', path])
      await rm(path, { recursive: true })
      lift()
    },
  }
}
