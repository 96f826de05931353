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
const DAY_MS = 86_400_000
const LONGEST_WAIT_MS = 30 * DAY_MS
const LONGEST_MS = 36_500 * DAY_MS

/** A number without a unit is a number of seconds. */
export function readDurationMs(text: string, longestMs = LONGEST_WAIT_MS): number {
  const ms = durationMsOf(text)
  if (ms !== null && ms <= longestMs) return ms
  const fix = `Write it as 90s, 5m, 2h or 1d, up to ${longestMs / DAY_MS} days.`
  throw new Failure('usage', `${JSON.stringify(text)} is not a duration.`, fix)
}

export function readDays(text: string): number {
  return readDurationMs(text, LONGEST_MS) / DAY_MS
}

function durationMsOf(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text.trim())
  const ms = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? 's'] ?? 0)
  return match !== null && ms > 0 && ms <= LONGEST_MS ? ms : null
}

/** Reads a time, or a duration before or after now, as ISO 8601. */
export function readTime(text: string, { isPast }: { isPast: boolean }): string {
  if (/^\d{4}-/.test(text)) return text
  const ms = durationMsOf(text)
  if (ms === null) {
    throw new Failure(
      'usage',
      `${JSON.stringify(text)} is neither a time nor a duration.`,
      'Write it as 2026-11-20T07:19:00Z, or as 90s, 5m, 2h or 1d.',
    )
  }
  return new Date(Date.now() + (isPast ? -ms : ms)).toISOString()
}
