#!/usr/bin/env node
// The command line of the service.

import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { fileURLToPath } from 'node:url'

// Without types to strip and sources to compile, a start takes half the processor time and 25 MB
// less. Beside the libraries and not in the machine's temporary folder, where others could write;
// where the checkout cannot be written to, nothing is kept and everything works.
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/mailroom', import.meta.url)))
// Worker threads look for it in the environment only.
const cacheFolder = getCompileCacheDir()
if (cacheFolder !== undefined) process.env.NODE_COMPILE_CACHE ??= cacheFolder

const { runCommandLine } = await import('#commands/command-line.ts')
await runCommandLine(process.argv)
