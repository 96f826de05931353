// Files that are sent as attachments.

import { basename } from 'node:path'
import { mediaTypeOf } from '@mailroom/contract/media-types.ts'
import { readPathOrInput } from './read-input.ts'

export function readAttachments(paths: readonly string[]) {
  return Promise.all(
    paths.map(async (path) => ({
      filename: basename(path),
      contentType: mediaTypeOf(path),
      data: await readPathOrInput(path),
    })),
  )
}
