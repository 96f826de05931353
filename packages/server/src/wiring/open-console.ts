// The built console: where it lies, and how it comes about where an installation has not built it. That
// is a process of its own, for the bundler is larger than the service.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBuiltFiles } from '#api/console/built-files.ts'
import type { ConsolePort } from '#api/console/console-routes.ts'
import type { Log } from '#platform/log.ts'

const BUILD_MS_MAX = 60_000
const BUILD = '@mailroom/console/build.ts'

export type OpenConsoleOptions = {
  /** Instead of the package's own. */
  readonly folder?: string | undefined
  readonly mayBuild?: boolean | undefined
  readonly log: Log
}

/** Starts to build at once where nothing is there; once in a process, whatever comes of it. */
export function openConsole({ folder, mayBuild = false, log }: OpenConsoleOptions): ConsolePort {
  const program = fileURLToPath(import.meta.resolve(BUILD))
  const root = folder ?? join(dirname(program), 'dist')
  let isBuilding = mayBuild && !existsSync(join(root, 'index.html'))
  if (isBuilding) {
    execFile(process.execPath, [program], { timeout: BUILD_MS_MAX }, (error) => {
      isBuilding = false
      if (error !== null) log.warn({ error }, 'the console could not be built')
    })
  }
  return {
    files: openBuiltFiles(root),
    findObstacle: () => (isBuilding ? 'The console is being built.' : NOT_BUILT),
  }
}

const NOT_BUILT = 'The console is not built: run npm run build -w @mailroom/console.'
