// Blobs as files. Each is written elsewhere, synced and renamed, so no file is ever incomplete.

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

/** More often than in a bucket, because reading folders costs nothing. */
const DISK_SWEEP_MS = HOUR_MS
/** Unfinished files older than this were left behind by a crash. */
const DRAFT_MS_MAX = HOUR_MS

export async function openDiskBlobs(folder: string): Promise<BlobStore> {
  const unfinished = join(folder, 'unfinished')
  makePrivateFolder(unfinished)
  // A killed process may have created the folder without syncing it.
  await syncFolder(dirname(folder))
  await removeOldDrafts(unfinished)
  const makeFolder = folderMaker(folder)
  const pathOf = (id: string) => blobPath(folder, id)

  return {
    async put(id, content) {
      const { subfolder, file } = pathOf(id)
      const draft = draftPath(unfinished, id)
      try {
        await makeFolder(subfolder)
        const handle = await open(draft, 'wx', 0o600)
        try {
          await handle.writeFile(content)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(draft, file)
        await syncFolder(subfolder)
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
      for (const subfolder of await readdir(folder)) {
        if (subfolder.length !== 2) continue
        const ids = await readdir(join(folder, subfolder))
        const readAgeMs = (id: string) => ageOf(join(folder, subfolder, id), nowMs)
        if (ids.length > 0) yield ids.map((id) => ({ id, readAgeMs: () => readAgeMs(id) }))
      }
    },
    async close() {},
  }
}

function blobPath(folder: string, id: string): { subfolder: string; file: string } {
  const file = join(folder, blobName(id))
  return { subfolder: dirname(file), file }
}

function draftPath(unfinished: string, name: string): string {
  return join(unfinished, `${name}.${randomText(systemChance, LOWER_ALPHANUMERIC, 8)}`)
}

/** Reads the file system's clock, because machines that share files have different clocks. */
async function timeOf(unfinished: string): Promise<number> {
  const file = draftPath(unfinished, 'clock')
  await writeFile(file, '', { flag: 'wx', mode: 0o600 })
  try {
    return (await stat(file)).mtimeMs
  } finally {
    await rm(file, { force: true })
  }
}

/** The age of a removed file is 0. */
async function ageOf(file: string, nowMs: number): Promise<number> {
  try {
    return Math.max(0, nowMs - (await stat(file)).mtimeMs)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw asStorageError(error) ?? error
  }
}

/** Syncs each folder at its first use, because another process may have just created it. */
function folderMaker(folder: string): (subfolder: string) => Promise<void> {
  const syncs = new Map<string, Promise<void>>()
  return async (subfolder) => {
    const made = await mkdir(subfolder, { recursive: true, mode: 0o700 })
    if (made !== undefined) syncs.delete(subfolder)
    const sync = syncs.get(subfolder) ?? syncFolder(folder)
    syncs.set(subfolder, sync)
    try {
      await sync
    } catch (error) {
      syncs.delete(subfolder)
      throw error
    }
  }
}

/** Recent drafts may belong to a running process. */
async function removeOldDrafts(folder: string): Promise<void> {
  const names = await readdir(folder)
  if (names.length === 0) return
  // A full disk has no room to read the clock, and must not prevent the start.
  const nowMs = await timeOf(folder).catch(() => null)
  if (nowMs === null) return
  for (const name of names) {
    const file = join(folder, name)
    if ((await ageOf(file, nowMs)) > DRAFT_MS_MAX) await rm(file, { force: true })
  }
}

type BlobCopy = {
  from: string | Pick<BlobStore, 'get'>
  to: string
  /** Returns the ids of the blobs that the copied database refers to. */
  copyDatabase(): Promise<string[]>
}

const ATTEMPTS_MAX = 5

/** Copies the database again if a blob was deleted in between. False if all attempts fail. */
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
      const { subfolder, file } = blobPath(to, id)
      makePrivateFolder(subfolder)
      if (await copyOne(from, { id, file })) copied.add(id)
      else missing += 1
    }
  }
  await Promise.all(Array.from({ length: BLOBS_AT_ONCE_MAX }, copyRest))
  return missing
}

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
