// Blobs as files: written beside their place, synced, then renamed into it, so that a file with a
// blob's name is always whole.

import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#base/chance.ts'
import { systemClock } from '#base/clock.ts'
import { asStorageError, StorageError } from '#db/storage-error.ts'
import type { BlobStore } from './blob-store.ts'

/** Opens the store below `folder`, making it when absent (0700). */
export async function openDiskBlobs(folder: string): Promise<BlobStore> {
  const unfinished = join(folder, 'unfinished')
  await mkdir(unfinished, { recursive: true, mode: 0o700 })
  await removeOldDrafts(unfinished)
  const pathOf = (id: string) => {
    if (!/^[a-z0-9_]{5,64}$/.test(id))
      throw new Error('A blob id is letters, digits and underscores.')
    // The last characters are random, the first a time: so the folders fill evenly.
    return { shelf: join(folder, id.slice(-2)), file: join(folder, id.slice(-2), id) }
  }

  return {
    async put(id, content) {
      const { shelf, file } = pathOf(id)
      const draft = join(unfinished, `${id}.${randomText(systemChance, LOWER_ALPHANUMERIC, 8)}`)
      try {
        await mkdir(shelf, { recursive: true, mode: 0o700 })
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
      for (const id of ids) await rm(pathOf(id).file, { force: true })
    },
    async *list() {
      for (const shelf of await readdir(folder)) {
        if (shelf.length !== 2) continue
        const names = await readdir(join(folder, shelf))
        if (names.length > 0) yield names
      }
    },
  }
}

/** What crashes left; recent ones may be another process's work in hand. */
async function removeOldDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const { mtimeMs } = await stat(join(folder, name))
    if (systemClock.now() - mtimeMs > DRAFT_MS_MAX) await rm(join(folder, name), { force: true })
  }
}

const DRAFT_MS_MAX = 60 * 60 * 1_000

/** A rename is durable only when its folder is synced too. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
