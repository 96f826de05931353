// Overwrites what rows have left in the unused bytes of a SQLite file. `secure_delete` overwrites a cell that is
// deleted. A cell that SQLite moves to another page leaves its old copy behind, between the pointers of its page and the
// cells there. No statement reaches these bytes, so a pass writes zeros to the file itself, in steps.
//
// A step empties the log and takes the write lock before it reads pages, so the file is complete and no other process writes
// it. The bytes have no meaning to SQLite: neither a reader at the same time nor a crash in between sees a difference.
// SQLite gives whole pages other numbers, with their unused bytes. So each step also reads the pages that were written
// since the step before, by the numbers in the log, and begins again when it cannot know them all.

import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'
import type { SqliteConnection } from './sqlite-connection.ts'
import { asStorageError } from './storage-error.ts'

/** Pages of a step, beside those that were written since the last one: 4 MiB, which take some ten milliseconds. */
const STEP_PAGES = 512
/** Overflow pages begin with the number of a page, which in a larger file looks like the type of a page. */
const PAGES_MAX = 2 ** 25

export type UnusedBytesPass = {
  /** `blocked` when a reader or another process prevents it for the moment. Throws what SQLite throws. */
  step(): 'done' | 'more' | 'blocked'
  /** Pages may have been freed without being overwritten. */
  beginAgain(): void
}

type Target = {
  connection: SqliteConnection
  path: string
  /**
   * The database file, open for writing. It stays open as long as the process has connections to the file: closing it
   * would end the locks of SQLite (fcntl(2)).
   */
  file: number
  /** Moves the log into the file and empties it; false when something prevents that. */
  emptyLog(): boolean
}

/** When a pass is done, no unused byte of the file holds anything that was there before its first step. */
export function openUnusedBytesPass({ connection, path, file, emptyLog }: Target): UnusedBytesPass {
  const pageBytes = Number(connection.rows('PRAGMA page_size')[0]?.page_size)
  const version = Number(connection.rows('PRAGMA user_version')[0]?.user_version)
  // Its pointer maps (https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages) look like other pages.
  if (Number(connection.rows('PRAGMA auto_vacuum')[0]?.auto_vacuum) !== 0) {
    throw new Error('A database with auto_vacuum cannot be overwritten.')
  }
  const pages = openPages(file, pageBytes)
  let place: Place | null = null

  const overwriteNext = ({ next, changed, free }: Place): number => {
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
      place = null
    },
    step() {
      const changed = place === null ? null : pagesInLog(path, pageBytes, place.log)
      if (changed === null) place = null
      if (!emptyLog()) return 'blocked'
      const before = place
      // Without an end of this step, the next one cannot know what was written.
      place = null
      if (!beginWrite(connection)) return 'blocked'
      try {
        if (logMark(path) !== null) return 'more'
        const { next, free } = before ?? { next: 1, free: pages.listFree() }
        const read = overwriteNext({ next, free, changed: changed ?? [], log: '' })
        // A commit makes other connections read the pages anew, and begins a log of which the next step knows the mark.
        connection.exec(`PRAGMA user_version = ${version}; COMMIT; PRAGMA shrink_memory`)
        const log = logMark(path)
        if (read < STEP_PAGES) return 'done'
        if (log !== null) place = { next: next + read, changed: [], free, log }
        return 'more'
      } finally {
        if (connection.isInTransaction) connection.exec('ROLLBACK')
      }
    },
  }
}

type Place = {
  next: number
  changed: Iterable<number>
  /** Pages that were free at the beginning, and were not written since. */
  free: Set<number>
  /** The mark of the log after the last step. */
  log: string
}

/** False when another process writes. */
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

/** The salts of the log, which change whenever it begins anew; null for an empty log. */
function logMark(path: string): string | null {
  return readLog(path, (read) => {
    const header = read(0, LOG_HEADER_BYTES)
    return header === null ? null : header.toString('hex', 16, 24)
  })
}

/** The numbers of the pages in the log; null when it is not the one with this mark. */
function pagesInLog(path: string, pageBytes: number, mark: string): Set<number> | null {
  return readLog(path, (read) => {
    if (read(0, LOG_HEADER_BYTES)?.toString('hex', 16, 24) !== mark) return null
    const found = new Set<number>()
    for (let at = LOG_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageBytes) {
      const frame = read(at, FRAME_HEADER_BYTES)
      // The rest is from an earlier log.
      if (frame === null || frame.toString('hex', 8, 16) !== mark) return found
      found.add(frame.readUInt32BE(0))
    }
  })
}

type ReadAt = (at: number, bytes: number) => Buffer | null

/** `run` reads from the log; a read beyond its end gives null. */
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
  /** Of the page at this place of the buffer. */
  const clear = (number: number, page: Buffer, [from, to]: Range) => {
    if (to <= from || page.compare(zeros, 0, to - from, from, to) === 0) return
    writeSync(file, zeros, 0, to - from, (number - 1) * pageBytes + from)
    hasWritten = true
  }
  return {
    /** Overwrites the unused bytes of `count` pages, and all of a free one. */
    overwrite(first: number, count: number, free: ReadonlySet<number>): void {
      const whole = Math.floor(read(first, count) / pageBytes)
      for (let index = 0; index < whole; index++) {
        const number = first + index
        const page = buffer.subarray(index * pageBytes, (index + 1) * pageBytes)
        if (free.has(number)) clear(number, page, [0, pageBytes])
        else for (const range of unusedOf(number, page)) clear(number, page, range)
      }
    },
    /** The free pages without content, from the list of them; what they and the pages of the list held may be left. */
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
/** The header of the file is at the beginning of its first page. */
const FILE_HEADER_BYTES = 100

/**
 * The bytes of a page of a b-tree that belong to nothing; none for other pages. Fragments of up to three bytes are not
 * among them (https://sqlite.org/fileformat2.html#b_tree_pages).
 */
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
