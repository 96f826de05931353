// What a command is given besides its arguments: standard input, files, and secrets typed at a terminal.

import { readFile } from 'node:fs/promises'
import { Failure } from './failure.ts'

/** Standard input to its end. */
export async function readStandardInput(): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** A file, or standard input for `-`. */
export async function readPathOrInput(path: string): Promise<Buffer<ArrayBuffer>> {
  if (path === '-') return readStandardInput()
  try {
    return await readFile(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('failed', `${path} cannot be read: ${reason}.`, 'Name an existing file.')
  }
}

/** A line from the terminal, trimmed; empty where its input has ended. */
export async function readAnswer(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(prompt)
  // The terminal gathers the line: Ctrl-C stays a signal.
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

/** What is typed at the terminal up to Enter, without showing it. Rejects when it is interrupted. */
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
