// Test files in one process, each a suite of its own: loading the service costs more than most files do.
// The runner writes the module that calls this.

import { type AsyncHook, createHook } from 'node:async_hooks'
import { registerHooks } from 'node:module'
import { after, before, suite } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** Time for released resources to end: connections that drain, threads that stop. */
const LINGER_MS_MAX = 60_000
const CLOSING_MS_MAX = 5_000
/** Resources that keep a process alive, except connections, which pools keep for a while. */
const KEPT: ReadonlySet<string> = new Set(['TCPServerWrap', 'UDPWrap', 'ProcessWrap'])

/** Loads the files one after the other; then their tests run in that order, each file with its own hooks. */
export async function runTogether(workspace: string, paths: string[]): Promise<void> {
  useBundledWriter()
  const stopFollowing = paths.length > 1 ? followingOf() : () => {}
  nameFailures()
  const loaded = Promise.withResolvers<void>()
  for (const path of paths) {
    const loading = Promise.withResolvers<void>()
    void suite(path, async () => {
      let others = 0
      before(async () => {
        // A module that a later file is importing could not be required meanwhile.
        await loaded.promise
        others = listOpen().length
        running = path
      })
      try {
        await import(pathToFileURL(workspace + path).href)
      } finally {
        loading.resolve()
      }
      after(() => untilClosed(others))
    })
    // Definitions of a file belong to the suite that is loading.
    await loading.promise
  }
  stopFollowing()
  loaded.resolve()
  after(endInTime)
}

/**
 * The runner follows every promise, so that a definition belongs to its suite, and an error that nobody handles to its
 * test. After the definitions this would take a tenth of the processor time. A file that runs alone is followed to the end.
 *
 * Call it before the first definition; the returned function ends it.
 */
function followingOf(): () => void {
  const prototype: AsyncHook = Object.getPrototypeOf(createHook({}))
  const { enable } = prototype
  const hooks: AsyncHook[] = []
  prototype.enable = function () {
    hooks.push(this)
    return enable.call(this)
  }
  return () => {
    prototype.enable = enable
    for (const hook of hooks) hook.disable()
  }
}

/** The file whose tests run. */
let running = ''

/** The runner fails the process for an error that nobody handles, and knows no file. */
function nameFailures(): void {
  for (const event of ['uncaughtExceptionMonitor', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => console.error(`✖ during ${running}:`, error))
  }
}

function useBundledWriter(): void {
  const url = process.env.TEST_MAILROOM_WRITER
  if (url === undefined) return
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier.endsWith('sqlite-writer-entry.ts')
        ? { url, format: 'module', shortCircuit: true }
        : next(specifier, context),
  })
}

function listOpen(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => KEPT.has(kind))
}

async function untilClosed(others: number): Promise<void> {
  const deadlineMs = performance.now() + CLOSING_MS_MAX
  while (listOpen().length > others) {
    if (performance.now() > deadlineMs) throw new Error(`left open: ${listOpen().join(', ')}`)
    await pause(20, undefined, { ref: false })
  }
}

/** Resources that a test left open, most likely a failed one, must not keep the run alive. */
function endInTime(): void {
  setTimeout(() => {
    console.error(`Something was left open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, LINGER_MS_MAX).unref()
}
