// Blobs as files: written beside their place, synced, then renamed into it, so that a file with a
// blob's name is always whole.

import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import { asStorageError, StorageError } from '#platform/db/storage-error.ts'
import { HOUR_MS } from '#platform/units.ts'
import { BLOBS_AT_ONCE_MAX, type BlobStore, blobName } from './blob-store.ts'
import { makePrivateFolder, syncFolder } from './durable-folder.ts'

/** How often bytes without a message are looked for: a folder is read for nothing, a bucket's pages are paid for. */
const DISK_SWEEP_MS = HOUR_MS

/** Opens the store below `folder`, making it when absent (0700). */
export async function openDiskBlobs(folder: string): Promise<BlobStore> {
  const unfinished = join(folder, 'unfinished')
  makePrivateFolder(unfinished)
  // What a process that was killed made and had not synced.
  await syncFolder(dirname(folder))
  await removeOldDrafts(unfinished)
  const makeShelf = shelfMaker(folder)
  const pathOf = (id: string) => blobPath(folder, id)

  return {
    async put(id, content) {
      const { shelf, file } = pathOf(id)
      const draft = draftPath(unfinished, id)
      try {
        await makeShelf(shelf)
        const handle = await open(draft, 'wx', 0o600)
        try {
          await handle.writeFile(content)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(draft, file)
        await syncFolder(shelf)
      } catch (error) {
        await rm(draft, { force: true })
        throw asStorageError(error) ?? new StorageError('unavailable', String(error), error)
      }
    },
    async get(id) {
      try {
        return await readFile(pathOf(id).file)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw asStorageError(error) ?? error
      }
    },
    async remove(ids) {
      for (const { file } of ids.map(pathOf)) {
        await rm(file, { force: true }).catch((error) => {
          throw asStorageError(error) ?? error
        })
      }
    },
    sweepEveryMs: DISK_SWEEP_MS,
    async *list() {
      const nowMs = await timeOf(unfinished).catch((error) => {
        throw asStorageError(error) ?? error
      })
      for (const shelf of await readdir(folder)) {
        if (shelf.length !== 2) continue
        const ids = await readdir(join(folder, shelf))
        const readAgeMs = (id: string) => ageOf(join(folder, shelf, id), nowMs)
        if (ids.length > 0) yield ids.map((id) => ({ id, readAgeMs: () => readAgeMs(id) }))
      }
    },
    // Files need no closing, and none of their calls hangs for longer than the disk does.
    async close() {},
  }
}

/** Where the blob with this id lies below `folder`. Throws when the id could be a path. */
function blobPath(folder: string, id: string): { shelf: string; file: string } {
  const file = join(folder, blobName(id))
  return { shelf: dirname(file), file }
}

function draftPath(unfinished: string, name: string): string {
  return join(unfinished, `${name}.${randomText(systemChance, LOWER_ALPHANUMERIC, 8)}`)
}

/** By the clock that files get their time from: of several machines on one file system each has its own. */
async function timeOf(unfinished: string): Promise<number> {
  const file = draftPath(unfinished, 'clock')
  await writeFile(file, '', { flag: 'wx', mode: 0o600 })
  try {
    return (await stat(file)).mtimeMs
  } finally {
    await rm(file, { force: true })
  }
}

/** One that is gone meanwhile is as good as new. */
async function ageOf(file: string, nowMs: number): Promise<number> {
  try {
    return Math.max(0, nowMs - (await stat(file)).mtimeMs)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw asStorageError(error) ?? error
  }
}

/**
 * A function that makes a shelf when it is absent and resolves when its name is on disk. Another
 * caller or process may have made it a moment ago, so each is synced at its first use here.
 */
function shelfMaker(folder: string): (shelf: string) => Promise<void> {
  const syncs = new Map<string, Promise<void>>()
  return async (shelf) => {
    const made = await mkdir(shelf, { recursive: true, mode: 0o700 })
    if (made !== undefined) syncs.delete(shelf)
    const sync = syncs.get(shelf) ?? syncFolder(folder)
    syncs.set(shelf, sync)
    try {
      await sync
    } catch (error) {
      syncs.delete(shelf)
      throw error
    }
  }
}

/** What crashes left; recent ones may be another process's work in hand. */
async function removeOldDrafts(folder: string): Promise<void> {
  const names = await readdir(folder)
  if (names.length === 0) return
  // A full disk has no room for asking, and keeps nobody from starting.
  const nowMs = await timeOf(folder).catch(() => null)
  if (nowMs === null) return
  for (const name of names) {
    const file = join(folder, name)
    if ((await ageOf(file, nowMs)) > DRAFT_MS_MAX) await rm(file, { force: true })
  }
}

const DRAFT_MS_MAX = 60 * 60 * 1_000

type BlobCopy = {
  /** A folder of blobs, or where else they are read. */
  from: string | Pick<BlobStore, 'get'>
  to: string
  /** Copies the database anew and returns the ids of the blobs that the copy refers to. */
  copyDatabase(): Promise<string[]>
}

const ATTEMPTS_MAX = 5

/**
 * Copies the database and then each of its blobs, as files. A blob that was deleted in between is met
 * by copying the database again, which forgot it too; false when that did not help.
 */
export async function copyBlobs({ from, to, copyDatabase }: BlobCopy): Promise<boolean> {
  const copied = new Set<string>()
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const ids = new Set(await copyDatabase())
    for (const id of copied) {
      if (ids.has(id)) continue
      await rm(blobPath(to, id).file)
      copied.delete(id)
    }
    const missing = await copyMissing({ from, to, ids, copied })
    if (missing === 0) return true
  }
  return false
}

/** Copies what is not copied yet and counts what was not there. */
async function copyMissing(copying: {
  from: BlobCopy['from']
  to: string
  ids: ReadonlySet<string>
  copied: Set<string>
}): Promise<number> {
  const { from, to, ids, copied } = copying
  const left = [...ids].filter((id) => !copied.has(id))
  let missing = 0
  const copyRest = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const { shelf, file } = blobPath(to, id)
      makePrivateFolder(shelf)
      if (await copyOne(from, { id, file })) copied.add(id)
      else missing += 1
    }
  }
  await Promise.all(Array.from({ length: BLOBS_AT_ONCE_MAX }, copyRest))
  return missing
}

/** False when it is not there. */
async function copyOne(
  from: BlobCopy['from'],
  { id, file }: { id: string; file: string },
): Promise<boolean> {
  if (typeof from !== 'string') {
    const content = await from.get(id)
    if (content !== null) await writeFile(file, content, { mode: 0o600 })
    return content !== null
  }
  try {
    await copyFile(blobPath(from, id).file, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
}
