// The process that reads hostile files, one at a time. It ends with its channel.

import { readFile } from '@mailroom/mail-reading/files/read-file.ts'
import type { FileAnswer, FileRequest } from './file-reader.ts'
import { WORKER_READY } from './guarded-worker.ts'
import type { PieceMessage } from './process-host.ts'

let pieces: Uint8Array[] = []

process.on('message', async (message: PieceMessage | Omit<FileRequest, 'content'>) => {
  if ('piece' in message) {
    pieces.push(message.piece)
    return
  }
  const content = new Uint8Array(Buffer.concat(pieces))
  pieces = []
  const text = await readFile({ ...message, content })
  process.send?.({ text, usedMib: process.memoryUsage.rss() / 1024 / 1024 } satisfies FileAnswer)
})
process.send?.(WORKER_READY)
