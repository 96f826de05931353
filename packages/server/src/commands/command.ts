import { describeMistake, readDotEnv, readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { AppError } from '#platform/problem.ts'

/** A failure whose message is sufficient for an operator, so the command prints no stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}

export const OPERATOR = { kind: 'operator' } as const

/** Turns a refusal of the service into a `CommandFailure`. */
export async function orFailure<Value>(outcome: Promise<Value>): Promise<Value> {
  try {
    return await outcome
  } catch (error) {
    if (error instanceof AppError) throw new CommandFailure(error.message)
    throw error
  }
}

/** Replaces characters that could control a terminal or reverse the text's direction with `?`. */
export function plainText(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?')
}

export function formatTable(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(plainText))
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

/** Reads the environment and `.env`. Throws one failure that lists every error. */
export function loadSettings(): { settings: Settings; warnings: string[] } {
  const reading = readSettings(process.env, readDotEnv(process.cwd()))
  if (reading.kind === 'mistakes') {
    const lines = [...reading.mistakes.map(describeMistake), ...reading.warnings]
    throw new CommandFailure(
      `these settings are wrong:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    )
  }
  return { settings: reading.settings, warnings: reading.warnings }
}
