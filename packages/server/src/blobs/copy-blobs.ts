// Copying the blobs that a copied database refers to, while mail is received and deleted.

import { copyFile, rm } from 'node:fs/promises'
import { blobPath } from './disk-blobs.ts'
import { makePrivateFolder } from './durable-folder.ts'

export type BlobCopy = {
  from: string
  to: string
  /** Copies the database anew and returns the ids of the blobs that the copy refers to. */
  copyDatabase(): Promise<string[]>
}

const ATTEMPTS_MAX = 5

/**
 * Copies the database and then each of its blobs. A blob that was deleted in between is met by
 * copying the database again, which forgot it too; false when that did not help.
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
  from: string
  to: string
  ids: ReadonlySet<string>
  copied: Set<string>
}): Promise<number> {
  const { from, to, ids, copied } = copying
  let missing = 0
  for (const id of ids) {
    if (copied.has(id)) continue
    const target = blobPath(to, id)
    makePrivateFolder(target.shelf)
    try {
      await copyFile(blobPath(from, id).file, target.file)
      copied.add(id)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      missing += 1
    }
  }
  return missing
}
