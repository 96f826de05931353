// Copying the blobs that a copied database refers to, while mail is received and deleted.

import { copyFile, rm, writeFile } from 'node:fs/promises'
import type { BlobStore } from './blob-store.ts'
import { blobPath } from './disk-blobs.ts'
import { makePrivateFolder } from './durable-folder.ts'

/** Blobs removed, or copied for a backup, at once. */
export const BLOBS_AT_ONCE_MAX = 8

export type BlobCopy = {
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
