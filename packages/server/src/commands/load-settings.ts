// Settings for a command: the environment and `.env`, or the list of everything that is wrong.

import { describeMistake, readDotEnv, readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { CommandFailure } from './command-failure.ts'

/** Throws one failure that names every mistake. */
export function loadSettings(): { settings: Settings; warnings: string[] } {
  const reading = readSettings(process.env, readDotEnv(process.cwd()))
  if (reading.kind === 'mistakes') {
    const lines = [...reading.mistakes.map(describeMistake), ...reading.warnings]
    throw new CommandFailure(
      `these settings are wrong:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    )
  }
  return { settings: reading.settings, warnings: [...reading.warnings] }
}
