// The entry of `npm test` and `npm run test:all`: one PostgreSQL for the run, a line for each test file,
// failures in full, and the closing lines of node's own test runner.
// Arguments are parts of file paths to run in full, shown test by test, each file in a process of its own.

import { globSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { migratePostgres } from '#platform/db/postgres.ts'
import { bundleWriter } from '#test/bundle-writer.ts'
import { FileLines } from '#test/file-lines.ts'
import { openMemoryFolder } from '#test/memory-folder.ts'
import { makeTestCertificate } from '#test/peers/certificate.ts'
import {
  createTestDatabase,
  POSTGRES_TEMPLATE_VARIABLE,
  POSTGRES_URL_VARIABLE,
  startPostgres,
} from '#test/peers/postgres.ts'
import { isQuickFile, planRun } from '#test/plan-run.ts'
import { FULL_VARIABLE, isFullRun, isLongRun } from '#test/size-of.ts'

/** Three for each of two cores: files wait for sockets and clocks more than they work. */
const CONCURRENCY = 6
/** Of a test that says nothing else: a guard against hanging, which names the test. */
const TEST_MS_MAX = 3 * 60_000
/** Nothing is heard of any process: one is blocked, or does not end. More than LONG_LIMIT. */
const SILENCE_MS_MAX = (isLongRun() ? 90 : 12) * 60_000
const INTERRUPTED = 130

// That of the service itself: what is stripped of its types once need not be in every test file, nor in
// the services that tests start.
process.env.NODE_COMPILE_CACHE ??= new URL(
  '../../../node_modules/.cache/mailroom/',
  import.meta.url,
).pathname

const workspace = new URL('../../../', import.meta.url).pathname
const filters = process.argv.slice(2)
const interruption = new AbortController()
// Whoever names files wants to see them on both databases.
if (filters.length > 0) process.env[FULL_VARIABLE] = '1'

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
const memory = await openMemoryFolder()
if (memory !== null) process.env.TMPDIR = memory.path
const postgres = await startPostgres()
process.env[POSTGRES_URL_VARIABLE] = postgres.url
const certificate = await makeTestCertificate()
const entries = await mkdtemp(join(tmpdir(), 'mailroom-test-run-'))
try {
  process.env[POSTGRES_TEMPLATE_VARIABLE] = await makeTemplate()
  await bundleWriter(entries)
  const didPass = await runTests()
  if (!didPass) process.exitCode ??= 1
} finally {
  await rm(entries, { recursive: true, force: true })
  await certificate.remove()
  await postgres.stop()
  await memory?.remove()
}

function findTestFiles(): string[] {
  const patterns = ['packages/*/test/**/*.test.ts', 'bench/test/**/*.test.ts']
  const found = globSync(patterns, { cwd: workspace })
  const wanted = found.filter((path) =>
    filters.length === 0
      ? isFullRun() || isQuickFile(path)
      : filters.some((filter) => path.includes(relativeTo(filter))),
  )
  return wanted.sort().map((path) => workspace + path)
}

/** A path that a shell completed, from wherever the run was started. */
function relativeTo(filter: string): string {
  return filter.startsWith(workspace) ? filter.slice(workspace.length) : filter.replace(/^\.\//, '')
}

/** The name of a database as the service makes it, to be copied. */
async function makeTemplate(): Promise<string> {
  const url = await createTestDatabase(postgres.url)
  await migratePostgres(url)
  return new URL(url).pathname.slice(1)
}

async function runTests(): Promise<boolean> {
  const reports = new PassThrough({ objectMode: true })
  const printed = pipeline(reports, new spec(), process.stdout, { end: false })
  const isWhole = filters.length === 0
  const plan = isWhole ? planRun(files) : []
  const started = isWhole ? await Promise.all(plan.map(makeEntry)) : files
  const groups = plan.map((paths, index): [string, string[]] => [started[index] ?? '', paths])
  const events = run({
    files: started,
    concurrency: CONCURRENCY,
    timeout: TEST_MS_MAX,
    signal: interruption.signal,
    cwd: workspace,
    execArgv: ['--import', import.meta.resolve('#test/use-bundled-writer.ts')],
  })
  const lines = new FileLines(files, workspace, new Map(groups))
  const silence = watchSilence(lines)
  let didPass = false
  for await (const event of events) {
    silence.refresh()
    if (event.type === 'test:summary' && event.data.file === undefined) {
      didPass = event.data.success
    }
    if (!isWhole) reports.write(event)
    else for (const line of lines.take(event)) reports.write(line)
  }
  clearTimeout(silence)
  reports.end()
  await printed
  const missing = isWhole ? lines.missing() : []
  for (const path of missing) console.error(`✖ ${path} did not run`)
  return didPass && missing.length === 0 && !interruption.signal.aborted
}

/** Ends the run when it fires, with what has not ended. */
function watchSilence(lines: FileLines): NodeJS.Timeout {
  return setTimeout(() => {
    console.error(`✖ nothing was heard for ${SILENCE_MS_MAX / 60_000} minutes; what has not ended:`)
    for (const path of lines.missing()) console.error(`    ${path}`)
    interruption.abort()
  }, SILENCE_MS_MAX)
}

/** A module that runs the files. */
async function makeEntry(paths: string[], index: number): Promise<string> {
  const entry = join(entries, `group-${index}.test.mjs`)
  const group = import.meta.resolve('#test/run-together.ts')
  const text = `import { runTogether } from ${JSON.stringify(group)}
await runTogether(${JSON.stringify(paths)})
`
  await writeFile(entry, text)
  return entry
}
