// Overwrites remains of rows in the unused bytes of a SQLite file. `secure_delete` overwrites
// deleted cells, but a cell that moves to another page leaves its old copy behind. No statement
// reaches these bytes, so a pass writes zeros to the file itself, in steps.
//
// A step empties the log and takes the write lock before it reads pages, so the file is complete
// and no other process writes it. Neither a concurrent reader nor a crash sees a difference. SQLite
// may renumber whole pages, so each step also reads the pages written since the last one, by their
// numbers in the log, and starts over when it cannot know them all.

import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'
import type { SqliteConnection } from './sqlite-connection.ts'
import { asStorageError } from './storage-error.ts'

/** 4 MiB, which takes about ten milliseconds. */
const STEP_PAGES = 512
/** Overflow pages begin with a page number, which in a larger file could look like a page type. */
const PAGES_MAX = 2 ** 25

export type UnusedBytesPass = {
  /** `blocked` if a reader or another process currently prevents the step. */
  step(): 'done' | 'more' | 'blocked'
  /** Must be called when pages may have been freed without being overwritten. */
  beginAgain(): void
}

type Target = {
  connection: SqliteConnection
  path: string
  /** Stays open with the connections: closing it would release SQLite's locks (fcntl(2)). */
  file: number
  /** Returns false if a reader or another process prevents it. */
  emptyLog(): boolean
}

/** After a pass, no unused byte of the file holds data from before its first step. */
export function openUnusedBytesPass({ connection, path, file, emptyLog }: Target): UnusedBytesPass {
  const pageBytes = Number(connection.rows('PRAGMA page_size')[0]?.page_size)
  const version = Number(connection.rows('PRAGMA user_version')[0]?.user_version)
  // Pointer maps (fileformat2.html#pointer_map_or_ptrmap_pages) look like other pages.
  if (Number(connection.rows('PRAGMA auto_vacuum')[0]?.auto_vacuum) !== 0) {
    throw new Error('A database with auto_vacuum cannot be overwritten.')
  }
  const pages = openPages(file, pageBytes)
  let progress: Progress | null = null

  const overwriteNext = ({ next, changed, free }: Progress): number => {
    const count = Number(connection.rows('PRAGMA page_count')[0]?.page_count)
    if (count >= PAGES_MAX) throw new Error(`A database of ${count} pages cannot be overwritten.`)
    for (const page of changed) {
      free.delete(page)
      if (page <= count) pages.overwrite(page, 1, free)
    }
    const left = Math.max(0, Math.min(STEP_PAGES, count - next + 1))
    if (left > 0) pages.overwrite(next, left, free)
    pages.sync()
    return left
  }

  return {
    beginAgain() {
      progress = null
    },
    step() {
      const changed = progress === null ? null : pagesInLog(path, pageBytes, progress.log)
      if (changed === null) progress = null
      if (!emptyLog()) return 'blocked'
      const before = progress
      // Unless this step completes, the next one cannot know which pages were written.
      progress = null
      if (!beginWrite(connection)) return 'blocked'
      try {
        if (logSalts(path) !== null) return 'more'
        const { next, free } = before ?? { next: 1, free: pages.listFree() }
        const read = overwriteNext({ next, free, changed: changed ?? [], log: '' })
        // The commit makes other connections reread the pages and restarts the log.
        connection.exec(`PRAGMA user_version = ${version}; COMMIT; PRAGMA shrink_memory`)
        const log = logSalts(path)
        if (read < STEP_PAGES) return 'done'
        if (log !== null) progress = { next: next + read, changed: [], free, log }
        return 'more'
      } finally {
        if (connection.isInTransaction) connection.exec('ROLLBACK')
      }
    },
  }
}

type Progress = {
  next: number
  changed: Iterable<number>
  free: Set<number>
  log: string
}

function beginWrite(connection: SqliteConnection): boolean {
  try {
    connection.exec('BEGIN IMMEDIATE')
    return true
  } catch (error) {
    if (asStorageError(error)?.kind !== 'busy') throw error
    return false
  }
}

// https://sqlite.org/fileformat2.html#the_write_ahead_log
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** The salts of the log, which change whenever the log restarts; null for an empty log. */
function logSalts(path: string): string | null {
  return readLog(path, (read) => {
    const header = read(0, LOG_HEADER_BYTES)
    return header === null ? null : header.toString('hex', 16, 24)
  })
}

/** The numbers of the pages in the log; null if its salts are not `mark`. */
function pagesInLog(path: string, pageBytes: number, salts: string): Set<number> | null {
  return readLog(path, (read) => {
    if (read(0, LOG_HEADER_BYTES)?.toString('hex', 16, 24) !== salts) return null
    const found = new Set<number>()
    for (let at = LOG_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageBytes) {
      const frame = read(at, FRAME_HEADER_BYTES)
      // The remaining frames are from an earlier log.
      if (frame === null || frame.toString('hex', 8, 16) !== salts) return found
      found.add(frame.readUInt32BE(0))
    }
  })
}

type ReadAt = (at: number, bytes: number) => Buffer | null

function readLog<Value>(path: string, run: (read: ReadAt) => Value): Value {
  const log = openSync(`${path}-wal`, 'r')
  const buffer = Buffer.alloc(LOG_HEADER_BYTES)
  try {
    return run((at, bytes) =>
      readSync(log, buffer, 0, bytes, at) < bytes ? null : buffer.subarray(0, bytes),
    )
  } finally {
    closeSync(log)
  }
}

function openPages(file: number, pageBytes: number) {
  const buffer = Buffer.alloc(STEP_PAGES * pageBytes)
  const zeros = Buffer.alloc(pageBytes)
  let hasWritten = false
  const read = (first: number, count: number) =>
    readSync(file, buffer, 0, count * pageBytes, (first - 1) * pageBytes)
  const clear = (number: number, page: Buffer, [from, to]: Range) => {
    if (to <= from || page.compare(zeros, 0, to - from, from, to) === 0) return
    writeSync(file, zeros, 0, to - from, (number - 1) * pageBytes + from)
    hasWritten = true
  }
  return {
    overwrite(first: number, count: number, free: ReadonlySet<number>): void {
      const whole = Math.floor(read(first, count) / pageBytes)
      for (let index = 0; index < whole; index++) {
        const number = first + index
        const page = buffer.subarray(index * pageBytes, (index + 1) * pageBytes)
        if (free.has(number)) clear(number, page, [0, pageBytes])
        else for (const range of unusedOf(number, page)) clear(number, page, range)
      }
    },
    /** Returns the leaf pages of the freelist. Overwrites the unused end of each trunk page. */
    listFree(): Set<number> {
      const free = new Set<number>()
      read(1, 1)
      for (let trunk = buffer.readUInt32BE(32); trunk !== 0; ) {
        if (read(trunk, 1) < pageBytes) break
        const length = Math.min(buffer.readUInt32BE(4), pageBytes / 4 - 2)
        for (let at = 0; at < length; at++) free.add(buffer.readUInt32BE(8 + 4 * at))
        clear(trunk, buffer.subarray(0, pageBytes), [8 + 4 * length, pageBytes])
        trunk = buffer.readUInt32BE(0)
      }
      return free
    },
    sync(): void {
      if (hasWritten) fdatasyncSync(file)
      hasWritten = false
    },
  }
}

type Range = readonly [from: number, to: number]

const INNER_PAGES = [2, 5]
const LEAF_PAGES = [10, 13]
const FILE_HEADER_BYTES = 100

/** Fragments of up to three bytes are not included (fileformat2.html#b_tree_pages). */
function unusedOf(number: number, page: Buffer): Range[] {
  const header = number === 1 ? FILE_HEADER_BYTES : 0
  const type = page.readUInt8(header)
  const isLeaf = LEAF_PAGES.includes(type)
  if (!isLeaf && !INNER_PAGES.includes(type)) return []
  const pointers = header + (isLeaf ? 8 : 12)
  const content = page.readUInt16BE(header + 5) || 65_536
  const gap: Range = [pointers + 2 * page.readUInt16BE(header + 3), content]
  if (gap[0] > content || content > page.length) return []
  const unused = [gap]
  for (let at = page.readUInt16BE(header + 1); at !== 0; ) {
    const isWithin = at >= content && at + 4 <= page.length
    const end = isWithin ? at + page.readUInt16BE(at + 2) : 0
    if (end < at + 4 || end > page.length) break
    unused.push([at + 4, end])
    const next = page.readUInt16BE(at)
    if (next !== 0 && next < end) break
    at = next
  }
  return unused
}
