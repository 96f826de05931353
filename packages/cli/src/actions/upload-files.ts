// Uploads files, whose ids sends, replies, forwards and drafts then take.

import { basename } from 'node:path'
import { mediaTypeOf } from '@mailroom/contract/media-types.ts'
import { openOutput } from '#base/output.ts'
import { openFile } from '#base/read-attachments.ts'
import { openSession } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

export async function uploadFiles(paths: readonly string[], options: CommonOptions): Promise<void> {
  // A path that is wrong fails before anything is uploaded.
  const files = await Promise.all(paths.map(async (path) => ({ path, file: await openFile(path) })))
  const { client } = await openSession(options)
  const output = openOutput({ isColored: options.color })
  for (const { path, file } of files) {
    output.progress(`sending ${file.size} bytes`)
    const described = { filename: basename(path), contentType: mediaTypeOf(path) }
    const upload = await client.uploads.create(file, described)
    if (options.json) output.json(upload)
    else output.write(`${upload.id}\n`)
  }
}
