// Room on the disk that is held back by a file of its own, so that a full disk can still be emptied:
// deleting needs room too, for the write-ahead log.

import { closeSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { RESERVE_BYTES } from '#base/limits.ts'

export type DiskReserve = {
  /** False from the moment it was given up until `restore` succeeds. */
  readonly isWhole: boolean
  giveUp(): void
  /** Takes the room back when the disk has twice as much; returns whether the reserve is whole. */
  restore(): boolean
}

/** For whoever holds nothing back. */
export const NO_RESERVE: DiskReserve = { isWhole: true, giveUp: () => {}, restore: () => true }

/** Holds `RESERVE_BYTES` at `path`, or as much less as a small disk allows (an eighth of its room). */
export function openDiskReserve(path: string): DiskReserve {
  let isWhole = false
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  }
  const restore = () => {
    if (isWhole) return true
    try {
      const sizeBytes = Math.min(RESERVE_BYTES, Math.floor(freeBytes() / 8))
      if (freeBytes() < 2 * RESERVE_BYTES && sizeBytes < RESERVE_BYTES / 4) return false
      const file = openSync(path, 'w')
      try {
        writeSync(file, Buffer.alloc(sizeBytes))
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      isWhole = true
    } catch {
      rmSync(path, { force: true })
    }
    return isWhole
  }
  restore()
  return {
    get isWhole() {
      return isWhole
    },
    giveUp() {
      rmSync(path, { force: true })
      isWhole = false
    },
    restore,
  }
}
