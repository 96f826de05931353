// The entry of `npm test`: one PostgreSQL for the whole run, every test file of the workspace, a
// line for each file, failures in full, and the closing lines of node's own test runner.
// Arguments are parts of file paths to run, shown test by test.

import { globSync } from 'node:fs'
import { relative } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { makeTestCertificate } from '#test/peers/certificate.ts'
import { POSTGRES_URL_VARIABLE, startPostgres } from '#test/peers/postgres.ts'

const CONCURRENCY = 3
const FILE_MS_MAX = 5 * 60_000
const INTERRUPTED = 130

// As the service does itself: what is stripped of its types once need not be in every test file.
process.env.NODE_COMPILE_CACHE ??= new URL(
  '../../../node_modules/.cache/mailroom-tests/',
  import.meta.url,
).pathname

const workspace = new URL('../../../', import.meta.url).pathname
const filters = process.argv.slice(2)
const interruption = new AbortController()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // The second time at once: the cluster has a watchdog.
    if (interruption.signal.aborted) process.exit(INTERRUPTED)
    process.exitCode = INTERRUPTED
    interruption.abort()
  })
}

const files = findTestFiles()
if (files.length === 0) {
  console.error(`No test file matches ${filters.join(' or ') || 'packages/*/test/**/*.test.ts'}`)
  process.exit(1)
}
const postgres = await startPostgres()
process.env[POSTGRES_URL_VARIABLE] = postgres.url
const certificate = await makeTestCertificate()
try {
  const didPass = await runTests()
  if (!didPass) process.exitCode ??= 1
} finally {
  await certificate.remove()
  await postgres.stop()
}

function findTestFiles(): string[] {
  const patterns = ['packages/*/test/**/*.test.ts', 'bench/test/**/*.test.ts']
  const found = globSync(patterns, { cwd: workspace })
  const wanted = found.filter(
    (path) => filters.length === 0 || filters.some((filter) => path.includes(relativeTo(filter))),
  )
  return wanted.sort().map((path) => workspace + path)
}

/** A path that a shell completed, from wherever the run was started. */
function relativeTo(filter: string): string {
  return filter.startsWith(workspace) ? filter.slice(workspace.length) : filter.replace(/^\.\//, '')
}

async function runTests(): Promise<boolean> {
  const reports = new PassThrough({ objectMode: true })
  const printed = pipeline(reports, new spec(), process.stdout, { end: false })
  const events = run({
    files,
    concurrency: CONCURRENCY,
    timeout: FILE_MS_MAX,
    signal: interruption.signal,
    cwd: workspace,
  })
  let didPass = false
  for await (const event of events) {
    if (event.type === 'test:summary' && event.data.file === undefined) {
      didPass = event.data.success
    }
    if (filters.length > 0) reports.write(event)
    else for (const line of condense(event)) reports.write(line)
  }
  reports.end()
  await printed
  return didPass && !interruption.signal.aborted
}

/** Instead of every passed test one line for its file; skipped ones stay in sight. */
function condense(event: TestEvent): TestEvent[] {
  switch (event.type) {
    case 'test:enqueue':
    case 'test:dequeue':
    case 'test:start':
    case 'test:plan':
      return []
    case 'test:pass':
      return event.data.skip || event.data.todo ? [event] : []
    case 'test:summary': {
      const { file, success, counts, duration_ms } = event.data
      if (file === undefined) return [event]
      const mark = success ? '✔' : '✖'
      const figures = `${counts.passed} of ${counts.tests}, ${Math.round(duration_ms)} ms`
      const message = `${mark} ${relative(workspace, file)} (${figures})\n`
      return [{ type: 'test:stdout', data: { file, message } }]
    }
    default:
      return [event]
  }
}
