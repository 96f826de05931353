// Test files in one process, each a suite of its own: loading the service costs more than most files do, and their
// suites share services. The runner writes the module that calls this.

import { type AsyncHook, createHook } from 'node:async_hooks'
import { appendFileSync, closeSync, openSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { after, suite } from 'node:test'
import { pathToFileURL } from 'node:url'
import { keepShared, release } from '#test/services.ts'

/** Time for released resources to end: connections that drain, threads that stop. */
const LINGER_MS_MAX = 60_000

export type Used = { path: string; tookMs: number; processorMs: number }

/** Runs the files that no other process has taken, one after the other; `folder` is common to the processes. */
export async function runTogether(
  workspace: string,
  folder: string,
  paths: readonly string[],
): Promise<void> {
  useBundledWriter()
  nameFailures()
  keepShared()
  const tracking = paths.length > 1 ? catchTracking() : {}
  for (const path of paths) {
    if (takes(folder, path)) await runFile(workspace, folder, path, tracking)
  }
  await release()
  endInTime()
}

function takes(folder: string, path: string): boolean {
  try {
    closeSync(openSync(join(folder, path.replaceAll('/', '!')), 'wx'))
    return true
  } catch {
    return false
  }
}

async function runFile(
  workspace: string,
  folder: string,
  path: string,
  tracking: { hook?: AsyncHook },
): Promise<void> {
  const ended = Promise.withResolvers<void>()
  const startMs = performance.now()
  const start = process.cpuUsage()
  running = path
  tracking.hook?.enable()
  void suite(path, async () => {
    after(() => {
      const { user, system } = process.cpuUsage(start)
      const used: Used = {
        path,
        tookMs: Math.round(performance.now() - startMs),
        processorMs: Math.round((user + system) / 1_000),
      }
      appendFileSync(join(folder, 'used'), `${JSON.stringify(used)}\n`)
      ended.resolve()
    })
    try {
      await import(pathToFileURL(workspace + path).href)
    } catch (error) {
      ended.resolve()
      throw error
    } finally {
      tracking.hook?.disable()
    }
  })
  await ended.promise
}

/**
 * The runner tracks every promise by an async hook, so that a test belongs to the suite that defines it. Tests are
 * defined while their file is loaded; afterwards the hook costs a tenth of the processor time, and Node has no option
 * against it. Returns the hook, which the runner enables with the first suite.
 */
function catchTracking(): { hook?: AsyncHook } {
  const caught: { hook?: AsyncHook } = {}
  const prototype: AsyncHook = Object.getPrototypeOf(createHook({}))
  const { enable } = prototype
  prototype.enable = function () {
    prototype.enable = enable
    caught.hook = this
    return enable.call(this)
  }
  return caught
}

/** The file whose tests run. */
let running = ''

/** The runner fails the process for an error that nothing handles, and knows no file. */
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

/** Resources that a test left open, most likely a failed one, must not keep the run alive. */
function endInTime(): void {
  setTimeout(() => {
    console.error(`Something was left open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, LINGER_MS_MAX).unref()
}
