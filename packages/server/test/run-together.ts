// Several test files in one process, each a suite of its own. The runner writes the module that
// calls this.

import { suite } from 'node:test'
import { pathToFileURL } from 'node:url'

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
}
