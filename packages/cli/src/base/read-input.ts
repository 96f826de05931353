// Input other than arguments: standard input, files, durations, and secrets typed at a terminal.

import { readFile } from 'node:fs/promises'
import { Failure } from './failure.ts'

export async function readStandardInput(): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** Reads a file, or standard input for `-`. */
export async function readPathOrInput(path: string): Promise<Buffer<ArrayBuffer>> {
  if (path === '-') return readStandardInput()
  try {
    return await readFile(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('failed', `${path} cannot be read: ${reason}.`, 'Name an existing file.')
  }
}

/** Reads a trimmed line from the terminal; returns '' at the end of input. */
export async function readAnswer(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(prompt)
  // In the terminal's line mode, Ctrl-C remains a signal.
  try {
    for await (const piece of stdin.iterator({ destroyOnReturn: false })) {
      return String(piece).trim()
    }
    return ''
  } finally {
    stdin.pause()
  }
}

const ENTER = /[\r\n\x04]/
const INTERRUPT = '\x03'
const BACKSPACE = /[\x7f\b]/

/** Reads a line from the terminal without echoing it. Rejects on Ctrl-C. */
export async function readHidden(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  stdin.setRawMode(true)
  stderr.write(prompt)
  let typed = ''
  try {
    for await (const piece of stdin.iterator({ destroyOnReturn: false })) {
      for (const character of String(piece)) {
        if (character === INTERRUPT) throw new Failure('interrupted', 'Interrupted.')
        if (ENTER.test(character)) return typed
        typed = BACKSPACE.test(character) ? typed.slice(0, -1) : typed + character
      }
    }
    return typed
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const LONGEST_MS = 30 * 86_400_000

export function readDurationMs(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text.trim())
  const ms = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? 's'] ?? 0)
  if (match === null || ms <= 0 || ms > LONGEST_MS) {
    throw new Failure(
      'usage',
      `${JSON.stringify(text)} is not a duration.`,
      'Write it as 90s, 5m, 2h or 1d, up to 30 days.',
    )
  }
  return ms
}
