// Where a command writes: results to standard output, everything else to standard error. Knows whether
// a person reads it, how wide their terminal is and whether they want colours.

import { createColors } from 'picocolors'
import { plainJson } from './plain-text.ts'

type Colors = ReturnType<typeof createColors>

export type Output = {
  /** Whether a person reads the results. */
  readonly isTerminal: boolean
  /** Cells in a line of the terminal. */
  readonly width: number
  readonly colors: Colors
  readonly noteColors: Colors
  write(text: string | Uint8Array): void
  /** A line to standard error. */
  note(text: string): void
  /** One document of JSON. */
  json(value: unknown): void
  /** Replaces the line before it on a terminal; writes nothing elsewhere. */
  progress(text: string): void
}

const WIDTH_DEFAULT = 80

export function openOutput({ isColored }: { isColored: boolean }): Output {
  const { stdout, stderr } = process
  const wantsColors = isColored && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  let hasProgress = false
  const clear = () => {
    if (hasProgress) stderr.write('\r\x1b[K')
    hasProgress = false
  }
  const write = (text: string | Uint8Array) => {
    clear()
    stdout.write(text)
  }
  return {
    isTerminal: stdout.isTTY === true,
    width: stdout.columns || WIDTH_DEFAULT,
    colors: createColors(wantsColors && stdout.isTTY === true),
    noteColors: createColors(wantsColors && stderr.isTTY === true),
    write,
    note(text) {
      clear()
      stderr.write(`${text}\n`)
    },
    json: (value) => write(`${plainJson(value, 2)}\n`),
    progress(text) {
      if (stderr.isTTY !== true) return
      clear()
      stderr.write(text.slice(0, (stderr.columns || WIDTH_DEFAULT) - 1))
      hasProgress = true
    },
  }
}

/** A reader that has gone away, such as `head`, has what it wanted. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      process.exit(error.code === 'EPIPE' ? 0 : 1)
    })
  }
}
