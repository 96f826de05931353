// Room on the disk that is held back by a file of its own, so that a full disk can still be emptied:
// deleting needs room too, for the write-ahead log.

import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Kept on disk to be given up when the disk is full, so that deleting still works: what is in the
 * write-ahead log and not yet in the database takes its size there, and the deletion adds to it.
 */
const RESERVE_BYTES = 16 * 1024 * 1024

export type DiskReserve = {
  /** False from the moment it was given up until `restore` succeeds. */
  readonly isWhole: boolean
  giveUp(): void
  /** Takes the room back when the disk has twice as much; returns whether the reserve is whole. */
  restore(): boolean
}

/** For whoever holds nothing back. */
export const NO_RESERVE: DiskReserve = { isWhole: true, giveUp: () => {}, restore: () => true }

/** Holds `RESERVE_BYTES` at `path`, or an eighth of a small disk. */
export function openDiskReserve(path: string): DiskReserve {
  const wantedBytes = reserveBytes(path)
  let isWhole = heldBytes(path) >= wantedBytes
  const restore = () => {
    if (isWhole) return true
    try {
      if (freeBytes(path) < 2 * wantedBytes) return false
      const file = openSync(path, 'w')
      try {
        writeSync(file, Buffer.alloc(wantedBytes))
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

/**
 * Gives up the reserve at `path` when the disk is full to the brim: opening the database needs a few
 * pages of its own, and a service that does not start can delete nothing.
 */
export function giveUpReserveOnFullDisk(path: string): void {
  if (freeBytes(path) < reserveBytes(path) / 4) rmSync(path, { force: true })
}

/** The part of the disk of `path` that may lie in the write-ahead log, in bytes. */
export function logBytesMax(path: string): number {
  return diskBytes(path) / 16
}

function reserveBytes(path: string): number {
  return Math.min(RESERVE_BYTES, Math.floor(diskBytes(path) / 8))
}

function heldBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize
}

function diskBytes(path: string): number {
  const { blocks, bsize } = statfsSync(dirname(path))
  return blocks * bsize
}
