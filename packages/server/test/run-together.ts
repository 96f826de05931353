// Test files in one process, each a suite of its own, and the end of this process. The runner writes
// the module that calls this.

import { after, suite } from 'node:test'
import { pathToFileURL } from 'node:url'

/** For what tests have let go of to end: connections that drain, threads that stop. */
const LINGER_MS_MAX = 60_000

/**
 * Loads the files one after the other; then their tests run in that order, with the hooks of a file
 * around its own tests only. The suites have the paths as names.
 */
export async function runTogether(paths: string[]): Promise<void> {
  for (const path of paths) {
    const loading = Promise.withResolvers<void>()
    void suite(path, async () => {
      try {
        await import(pathToFileURL(path).href)
      } finally {
        loading.resolve()
      }
    })
    // What a file defines belongs to the suite that is loading.
    await loading.promise
  }
  after(endInTime)
}

/** What a test left open, most likely one that failed, must not hold up the run for ever. */
function endInTime(): void {
  setTimeout(() => {
    console.error(`Something was left open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, LINGER_MS_MAX).unref()
}
