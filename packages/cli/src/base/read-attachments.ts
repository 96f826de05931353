// Files that are attached: read from disk, or uploaded before.

import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { mediaTypeOf } from '@mailroom/contract/media-types.ts'
import type { FileToSend } from '@mailroom/sdk'
import { Failure } from './failure.ts'
import { plainLine } from './plain-text.ts'
import { readPathOrInput } from './read-input.ts'

export function readAttachments(paths: readonly string[]) {
  return Promise.all(paths.map(readAttachment))
}

/** Each is a path or the id of an upload; "./" before a path that looks like an id makes it one. */
export function readFilesToSend(given: readonly string[]): Promise<FileToSend[]> {
  return Promise.all(
    given.map((one) => (UPLOAD_ID.test(one) ? { uploadId: one } : readAttachment(one))),
  )
}

const UPLOAD_ID = /^upl_[0-9a-z]{26}$/

async function readAttachment(path: string) {
  return {
    filename: basename(path),
    contentType: mediaTypeOf(path),
    data: await readPathOrInput(path),
  }
}

/** A file that is read while it is sent. */
export async function openFile(path: string): Promise<Blob> {
  try {
    const file = await openAsBlob(path)
    // A folder can be opened, but not read.
    await file.slice(0, 1).arrayBuffer()
    return file
  } catch {
    throw new Failure('failed', `${plainLine(path)} cannot be read.`, 'Name an existing file.')
  }
}
