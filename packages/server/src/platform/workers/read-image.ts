// The text of images by Tesseract, if installed, with one process per image.

import { spawn } from 'node:child_process'
import { constants as access, accessSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { delimiter, join } from 'node:path'
import { cleanText } from '@mailroom/mail/charset.ts'
import {
  FILE_TEXT_LENGTH_MAX,
  type FileText,
  unreadText,
} from '@mailroom/mail-reading/files/file-text.ts'
import { SECOND_MS } from '#platform/units.ts'
import { watchMemory } from './process-usage.ts'

const READ_MS_MAX = 10 * SECOND_MS
const READ_MEMORY_MIB_MAX = 256

export type ImageReader = {
  /** One image at a time. Never rejects. */
  read(content: Uint8Array): Promise<FileText>
  close(): void
}

/** Returns null if there is no program `tesseract` in the PATH `path`. */
export function openImageReader(
  path: string,
  { timeoutMs = READ_MS_MAX }: { timeoutMs?: number } = {},
): ImageReader | null {
  const program = path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'tesseract'))
    .find(isProgram)
  if (program === undefined) return null
  let stop: (why: string) => void = () => {}
  return {
    read: (content) =>
      new Promise((resolve) => {
        stop = readWith(program, { path, content, timeoutMs, resolve })
      }),
    close: () => stop('The service is closing.'),
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, access.X_OK)
    return true
  } catch {
    return false
  }
}

function readWith(
  program: string,
  given: {
    path: string
    content: Uint8Array
    timeoutMs: number
    resolve: (text: FileText) => void
  },
): (why: string) => void {
  const child = spawn(program, ['stdin', 'stdout'], {
    env: { PATH: given.path, OMP_THREAD_LIMIT: '1' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const { pid } = child
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // A failure is harmless, because the lower priority is only a courtesy.
  }
  const pieces: Buffer[] = []
  let length = 0
  const settle = (text: FileText) => {
    clearTimeout(timer)
    endWatch()
    given.resolve(text)
  }
  const end = (text: FileText) => {
    child.kill('SIGKILL')
    settle(text)
  }
  const stop = (why: string) => end(unreadText('failed', why))
  const tooSlow = `Reading it takes more than ${given.timeoutMs / SECOND_MS} seconds.`
  const timer = setTimeout(
    () => end({ ...unreadText('failed', tooSlow), mayPass: true }),
    given.timeoutMs,
  )
  const endWatch = watchMemory(pid, {
    memoryMib: READ_MEMORY_MIB_MAX,
    onExceeded: () => stop(`Reading it takes more than ${READ_MEMORY_MIB_MAX} MiB of memory.`),
  })
  child.stdout.on('data', (piece: Buffer) => {
    if (length <= 4 * FILE_TEXT_LENGTH_MAX) pieces.push(piece)
    length += piece.length
  })
  // The program may end before it has read the whole image.
  child.stdin.on('error', () => {})
  child.on('error', () => stop('The program that reads images has failed.'))
  child.on('close', (code) => {
    if (code !== 0) return settle(unreadText('failed', 'It is damaged, or no image that is read.'))
    const text = cleanText(Buffer.concat(pieces).toString('utf8')).replaceAll('\f', '\n').trim()
    const isTruncated = text.length > FILE_TEXT_LENGTH_MAX
    const kept = text.slice(0, FILE_TEXT_LENGTH_MAX).toWellFormed()
    settle({ method: 'ocr', text: kept, pages: null, isTruncated, why: null })
  })
  child.stdin.end(given.content)
  return stop
}
