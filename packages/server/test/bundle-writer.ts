// The writer thread of the embedded database in one file instead of some three hundred: every service that
// a test opens starts one, and loading it was most of what opening a service cost.

import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** Where `use-bundled-writer.ts` finds it. */
const BUNDLE_VARIABLE = 'TEST_MAILROOM_WRITER_BUNDLE'

/** Makes it of the sources as they are; threads of processes that preload `use-bundled-writer.ts` run it. */
export async function bundleWriter(folder: string): Promise<void> {
  const file = `${folder}/sqlite-writer.mjs`
  await build({
    entryPoints: [fileURLToPath(import.meta.resolve('#wiring/sqlite-writer-entry.ts'))],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
  process.env[BUNDLE_VARIABLE] = pathToFileURL(file).href
}
