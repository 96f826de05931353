// The entry of `npm test`, `npm run test:all` and `npm run test:long`: a line for each test file, failures in
// full, and the closing lines of node's own test runner. Arguments are parts of paths of files to run in full,
// each in a process of its own, shown test by test.

import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { FULL_VARIABLE, isFullRun, isLongRun } from '@mailroom/mail/test/size-of.ts'
import { setUp } from '#test/setup.ts'

/**
 * For two cores. Files of quick runs mostly wait for sockets and clocks; those of full runs start services, whose first
 * seconds are processor time.
 */
const CONCURRENCY = isFullRun() ? 4 : 6
/** More save little, because most starts are saved already. */
const GROUP_FILES_MAX = 16
/** For a test without its own limit: catches hanging, and names the test. */
const TEST_MS_MAX = 3 * 60_000
/** No process reports anything: one is blocked, or does not end. Longer than LONG_LIMIT. */
const SILENCE_MS_MAX = (isLongRun() ? 90 : 12) * 60_000
const INTERRUPTED = 130

/**
 * They measure memory or how long the event loop was held up, which others in their process would change, or
 * change what belongs to the process.
 */
const ALONE =
  /\.full\.|\/crash\/|\/http\/(collect-body|websocket)|\/mail\/test\/line-ends|\/smtp\/test\/(client-broken-peers|limits)|transport-connections|peers\/postgres/

const workspace = new URL('../../../', import.meta.url).pathname
// The cache of the service itself, so that types are stripped once for all processes.
process.env.NODE_COMPILE_CACHE ??= `${workspace}node_modules/.cache/mailroom/`

const filters = process.argv.slice(2)
if (filters.length > 0) process.env[FULL_VARIABLE] = '1'
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
  const didPass = await runGroups(groupFiles(paths))
  if (!didPass) process.exitCode ??= 1
} finally {
  await tearDown()
}

/** Only full runs include files whose name ends with `.full.test.ts`, and kills. */
function findTestFiles(): string[] {
  const found = globSync('packages/*/test/**/*.test.ts', { cwd: workspace }).sort()
  const parts = filters.map((filter) => filter.replace(workspace, '').replace(/^\.\//, ''))
  if (parts.length > 0) return found.filter((path) => parts.some((part) => path.includes(part)))
  return found.filter((path) => isFullRun() || !/\.full\.test\.ts$|\/crash\//.test(path))
}

/** The processes in the order of their start, each with its files; neighbours load the same modules. */
function groupFiles(paths: readonly string[]): string[][] {
  const [alone = [], together = []] = [true, false].map((isAlone) =>
    paths.filter((path) => (filters.length > 0 || ALONE.test(path)) === isAlone),
  )
  const count = Math.ceil(together.length / GROUP_FILES_MAX)
  const startOf = (index: number) => Math.round((index * together.length) / count)
  return [
    ...alone.map((path) => [path]),
    ...Array.from({ length: count }, (_, index) =>
      together.slice(startOf(index), startOf(index + 1)),
    ),
  ]
}

async function runGroups(groups: string[][]): Promise<boolean> {
  const entries = new Map<string, string[]>()
  for (const group of groups) entries.set(await writeEntry(group, entries.size), group)
  const reports = new PassThrough({ objectMode: true })
  const printed = pipeline(reports, new spec(), process.stdout, { end: false })
  const silence = setTimeout(() => {
    console.error(`✖ nothing was reported for ${SILENCE_MS_MAX / 60_000} minutes`)
    interruption.abort()
  }, SILENCE_MS_MAX)
  const events = run({
    files: [...entries.keys()],
    concurrency: CONCURRENCY,
    timeout: TEST_MS_MAX,
    signal: interruption.signal,
    cwd: workspace,
  })
  let didPass = false
  for await (const event of events) {
    silence.refresh()
    if (event.type === 'test:summary' && event.data.file === undefined) {
      didPass = event.data.success
    }
    for (const report of condense(event, entries)) reports.write(report)
  }
  clearTimeout(silence)
  reports.end()
  await printed
  for (const path of unfinished) console.error(`✖ ${path} did not end`)
  return didPass && unfinished.size === 0 && !interruption.signal.aborted
}

/** A module that runs the files. */
async function writeEntry(paths: string[], index: number): Promise<string> {
  const entry = join(folder, `group-${index}.test.mjs`)
  const together = import.meta.resolve('#test/together.ts')
  const text = `import { runTogether } from ${JSON.stringify(together)}
await runTogether(${JSON.stringify(workspace)}, ${JSON.stringify(paths)})
`
  await writeFile(entry, text)
  return entry
}

/** Replaces event output: for a whole run, all failures, and a line for each file. */
function condense(event: TestEvent, entries: ReadonlyMap<string, string[]>): TestEvent[] {
  const isWhole = filters.length === 0
  if (event.type !== 'test:pass' && event.type !== 'test:fail') {
    return isWhole && /^test:(?:start|enqueue|dequeue|plan|complete)$/.test(event.type)
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
  const group = entries.get(name)
  // A failure after the end of its test, such as an unhandled rejection, belongs to no test.
  if (group !== undefined) return didPass ? [] : [event, print(`✖ one of ${group.join(', ')}\n`)]
  if (!unfinished.delete(name) || !isWhole) return shown
  const line = `${didPass ? '✔' : '✖'} ${name} (${Math.round(details.duration_ms ?? 0)} ms)\n`
  return [...shown, print(line)]
}
