// Private folders that survive a power failure: a new name is durable once its folder is synced.

import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

const PRIVATE = 0o700
const OTHERS = 0o077
const STICKY = 0o1000

/** Does not change a folder that is sticky, such as /tmp, or belongs to another user. */
export function makePrivateFolder(path: string): void {
  const folder = resolve(path)
  if (!makeFolder(folder)) makePrivate(folder)
}

/** Replaces Node's `recursive`, which never ends below /proc. False if the folder existed. */
function makeFolder(folder: string): boolean {
  if (isFolder(folder)) return false
  const parent = dirname(folder)
  // The root of an absent drive is its own parent.
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder, PRIVATE)
  } catch (error) {
    // Another process may have just created it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error
  }
  syncFolderNow(parent)
  return true
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function makePrivate(path: string): void {
  const { mode } = statSync(path)
  if ((mode & OTHERS) === 0 || (mode & STICKY) !== 0) return
  try {
    chmodSync(path, PRIVATE)
  } catch (error) {
    // A mounted volume may belong to another user; its files are private anyway.
    if (!['EPERM', 'EROFS', 'ENOTSUP'].includes(String((error as NodeJS.ErrnoException).code))) {
      throw error
    }
  }
}

function syncFolderNow(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
