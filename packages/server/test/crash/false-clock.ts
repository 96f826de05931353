// A wall clock that can be set while a process runs, as an operator or NTP does: time that passes is
// not touched. By libfaketime, where it is installed.

import { globSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type FalseClock = {
  /** Wraps a command line, so that its wall clock is this one. */
  wrap(command: readonly string[]): string[]
  /** Sets it to so many days from the true time. */
  set(days: number): Promise<void>
  remove(): Promise<void>
}

const LIBRARIES = ['/usr/lib/*/faketime/libfaketime.so.1', '/usr/lib/faketime/libfaketime.so.1']

/** A clock that is right; null where libfaketime is absent. */
export async function makeFalseClock(): Promise<FalseClock | null> {
  const [library] = globSync(LIBRARIES)
  if (library === undefined) return null
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-clock-'))
  const file = join(folder, 'time')
  const set = async (days: number) => {
    await writeFile(`${file}.new`, `${days < 0 ? '' : '+'}${days}d\n`)
    await rename(`${file}.new`, file)
  }
  await set(0)
  return {
    wrap: (command) => [
      'env',
      `LD_PRELOAD=${library}`,
      `FAKETIME_TIMESTAMP_FILE=${file}`,
      'FAKETIME_NO_CACHE=1',
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
      ...command,
    ],
    set,
    remove: () => rm(folder, { recursive: true }),
  }
}
