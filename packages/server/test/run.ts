// The entry of `npm test`, `npm run test:all` and `npm run test:long`: a line for each test file, failures in full, and
// a closing line with the sums. Arguments are names of packages or parts of paths; their files run in full and are
// shown test by test.
//
// Node's own runner can give each file a process, which costs a second and a half of processor time for each of some
// three hundred files, or run all files in one process, which uses one core. This gives it a few processes that take
// the files one after the other.

import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { FULL_VARIABLE, isFullRun, isLongRun } from '@mailroom/mail/test/size-of.ts'
import type { Used } from '#test/together.ts'

/** One more than the cores, because tests also wait for sockets and clocks. */
const PROCESSES = Math.min(availableParallelism(), 7) + 1
/** For a test without its own limit: catches hanging, and names the test. */
const TEST_MS_MAX = 3 * 60_000
/** No process reports anything: one is blocked, or does not end. Longer than LONG_LIMIT. */
const SILENCE_MS_MAX = (isLongRun() ? 90 : 12) * 60_000
/**
 * Processor time, which other work on the machine hardly changes. A file of the quick run that takes
 * more fails: it belongs into a `.full` file, or its suites share a service.
 */
const FILE_MS_MAX = 10_000
const SLOW_FILE_MS = 2_000
const INTERRUPTED = 130

/**
 * They measure memory or how long the event loop was held up, which others in their process would change, or
 * change what belongs to the process.
 */
const ALONE =
  /\.full\.|\/crash\/|\/http\/(collect-body|websocket)|\/mail\/test\/line-ends|\/smtp\/test\/(client-broken-peers|limits)|transport-connections|peers\/postgres/
/** Packages whose tests open a service or a database. */
const WITH_SERVICE = /^packages\/(server|cli|mcp)\//

const workspace = new URL('../../../', import.meta.url).pathname
// The cache of the service itself, so that types are stripped once for all processes.
process.env.NODE_COMPILE_CACHE ??= `${workspace}node_modules/.cache/mailroom/`

const startMs = performance.now()
const filters = process.argv.slice(2)
const isPackage = (filter: string) => existsSync(`${workspace}packages/${filter}`)
/** The whole run, or that of packages; else the files that match run in full and are shown test by test. */
const isWhole = filters.every(isPackage)
if (!isWhole) process.env[FULL_VARIABLE] = '1'
const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // The second time at once: the cluster has a watchdog.
    if (interruption.signal.aborted) process.exit(INTERRUPTED)
    process.exitCode = INTERRUPTED
    interruption.abort()
  })
}

const paths = findTestFiles()
if (paths.length === 0) {
  console.error(`No test file matches ${filters.join(' or ')}`)
  process.exit(1)
}
const unfinished = new Set(paths)
const { folder, tearDown } = await setUp()
try {
  const didPass = await runFiles()
  if (!didPass) process.exitCode ??= 1
} finally {
  await tearDown()
}

/** Only full runs include files whose name ends with `.full.test.ts`, and kills. */
function findTestFiles(): string[] {
  const parts = filters.map((filter) =>
    isPackage(filter) ? `packages/${filter}/` : filter.replace(workspace, '').replace(/^\.\//, ''),
  )
  return globSync('packages/*/test/**/*.test.ts', { cwd: workspace })
    .sort()
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .filter((path) => isFullRun() || !/\.full\.test\.ts$|\/crash\//.test(path))
}

async function setUp(): Promise<{ folder: string; tearDown(): Promise<void> }> {
  if (paths.some((path) => WITH_SERVICE.test(path))) {
    const parts = await import('#test/setup.ts')
    return parts.setUp()
  }
  const made = await mkdtemp(join(tmpdir(), 'mailroom-tests-'))
  return { folder: made, tearDown: () => rm(made, { recursive: true, force: true }) }
}

/** Each process has a run of its own: in a common one its events would wait for the end of the process before. */
async function runFiles(): Promise<boolean> {
  const alone = paths.filter((path) => ALONE.test(path))
  const others = paths.filter((path) => !ALONE.test(path))
  const shared = Array<string[]>(Math.min(PROCESSES, others.length)).fill(others)
  const groups = [...shared, ...alone.map((path) => [path])].entries()
  const silence = setTimeout(() => {
    console.error(`✖ nothing was reported for ${SILENCE_MS_MAX / 60_000} minutes`)
    interruption.abort()
  }, SILENCE_MS_MAX)
  const sums: Sums = { didPass: true, passed: 0, failed: 0 }
  const takeGroups = async () => {
    for (const [index, group] of groups) {
      if (!interruption.signal.aborted)
        await runGroup(await writeEntry(group, index), silence, sums)
    }
  }
  process.stdout.setMaxListeners(0)
  await Promise.all(Array.from({ length: PROCESSES }, takeGroups))
  clearTimeout(silence)
  for (const path of unfinished) console.error(`✖ ${path} did not end`)
  sums.didPass &&= unfinished.size === 0 && !interruption.signal.aborted
  return conclude(sums)
}

type Sums = { didPass: boolean; passed: number; failed: number }

async function runGroup(entry: string, silence: NodeJS.Timeout, sums: Sums): Promise<void> {
  const reports = new PassThrough({ objectMode: true })
  const printed = pipeline(reports, new spec(), process.stdout, { end: false })
  const events = run({
    files: [entry],
    timeout: TEST_MS_MAX,
    signal: interruption.signal,
    cwd: workspace,
  })
  for await (const event of events) {
    silence.refresh()
    if (event.type === 'test:summary' && event.data.file === undefined) {
      const { success, counts } = event.data
      sums.didPass &&= success
      sums.passed += counts.passed
      sums.failed += counts.tests - counts.passed - counts.skipped - counts.todo
    }
    for (const report of condense(event, entry)) reports.write(report)
  }
  reports.end()
  await printed
}

/** A module that runs the files. */
async function writeEntry(paths: string[], index: number): Promise<string> {
  const entry = join(folder, `group-${index}.test.mjs`)
  const together = import.meta.resolve('#test/together.ts')
  const text = `import { runTogether } from ${JSON.stringify(together)}
await runTogether(${JSON.stringify(workspace)}, ${JSON.stringify(folder)}, ${JSON.stringify(paths)})
`
  await writeFile(entry, text)
  return entry
}

/** Replaces event output: for a whole run, all failures, and a line for each file. */
function condense(event: TestEvent, entry: string): TestEvent[] {
  if (event.type !== 'test:pass' && event.type !== 'test:fail') {
    const isCount = event.type === 'test:diagnostic' && event.data.nesting === 0
    return isCount || (/^test:(?:start|enqueue|dequeue|plan|complete)$/.test(event.type) && isWhole)
      ? []
      : [event]
  }
  const { name, details, skip, todo } = event.data
  const didPass = event.type === 'test:pass'
  const shown = isWhole && didPass && !skip && !todo ? [] : [event]
  const print = (message: string): TestEvent => ({
    type: 'test:stdout',
    data: { file: name, message },
  })
  // A failure after the end of its test, such as an unhandled rejection, belongs to no test.
  if (name === entry) return didPass ? [] : [event]
  if (!unfinished.delete(name) || !isWhole) return shown
  const place = `${paths.length - unfinished.size}/${paths.length}`
  const took = `${Math.round(details.duration_ms ?? 0)} ms`
  return [...shown, print(`${didPass ? '✔' : '✖'} ${place} ${name} (${took})\n`)]
}

/** Prints slow files and the sums; false if the run failed or a file of the quick run takes too long. */
function conclude({ didPass, passed, failed }: Sums): boolean {
  const used = readUsed()
  const costOf = ({ processorMs }: Used) => processorMs
  const isQuick = !isFullRun()
  const slow = used
    .filter((file) => costOf(file) > SLOW_FILE_MS)
    .sort((a, b) => costOf(b) - costOf(a))
  const tooSlow = slow.filter((file) => isQuick && costOf(file) > FILE_MS_MAX)
  if (isWhole) {
    for (const file of slow) {
      const sign = tooSlow.includes(file) ? '✖ too slow' : 'slow'
      console.log(`${sign}: ${file.path} (${file.tookMs} ms, processor ${file.processorMs} ms)`)
    }
  }
  const processorMs = used.reduce((sum, file) => sum + file.processorMs, 0)
  const isGood = didPass && tooSlow.length === 0
  console.log(
    `${isGood ? '✔' : '✖'} ${passed} tests passed, ${failed} did not, in ${paths.length} files, ${seconds(performance.now() - startMs)} by the clock, ${seconds(processorMs)} of processor time`,
  )
  return isGood
}

function readUsed(): Used[] {
  const file = join(folder, 'used')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return lines.map((line) => JSON.parse(line))
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`
}
