// Preloaded into the processes of a whole run, and so into their threads, where it lets writer threads start
// from what `bundle-writer.ts` made. It loads nothing itself, for every thread pays for it.

import { registerHooks } from 'node:module'

const bundle = process.env.TEST_MAILROOM_WRITER_BUNDLE

if (bundle !== undefined) {
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.endsWith('/wiring/sqlite-writer-entry.ts')) return next(specifier, context)
      return { url: bundle, format: 'module', shortCircuit: true }
    },
  })
}
