// Blobs as files: written beside their place, synced, then renamed into it, so that a file with a
// blob's name is always whole.

import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#base/chance.ts'
import { systemClock } from '#base/clock.ts'
import { asStorageError, StorageError } from '#db/storage-error.ts'
import type { BlobStore } from './blob-store.ts'
import { makePrivateFolder, syncFolder } from './durable-folder.ts'

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
      const draft = join(unfinished, `${id}.${randomText(systemChance, LOWER_ALPHANUMERIC, 8)}`)
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

/** Where the blob with this id lies below `folder`. Throws when the id could be a path. */
export function blobPath(folder: string, id: string): { shelf: string; file: string } {
  if (!/^[a-z0-9_]{5,64}$/.test(id))
    throw new Error('A blob id is letters, digits and underscores.')
  // The last characters are random, the first a time: so the folders fill evenly.
  const shelf = join(folder, id.slice(-2))
  return { shelf, file: join(shelf, id) }
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
  for (const name of await readdir(folder)) {
    const { mtimeMs } = await stat(join(folder, name))
    if (systemClock.now() - mtimeMs > DRAFT_MS_MAX) await rm(join(folder, name), { force: true })
  }
}

const DRAFT_MS_MAX = 60 * 60 * 1_000
