// In which order and in which processes the test files run: those that need a process of their own
// alone, all others several to one, because loading the service costs more than most files do.

/** Files of full runs only, which take more than half of the time of all. */
const FULL_ONLY = [
  // Services that are killed and started again, and several processes on one database.
  /\/test\/crash\//,
  /-processes\.test/,
  // Commands of the program, each in a process of its own, and a package that is built and installed.
  /\/scenarios\/(accounts-commands|dkim-command|dns-command|doctor-parts|operating-files|sealed-keys)\.test/,
  /\/sdk\/test\/packed\.test/,
  // Much at once: bodies of many megabytes, hundreds of receivers that hang, random input for two parsers.
  /\/http\/(large-bodies|long-answers)\.test/,
  /\/scenarios\/(backpressure|hostile-mail|large-messages|long-bodies|sending-large)\.test/,
  /\/net\/(http-post|signature-bounds)\.test/,
  /\/worker\/(dispatcher-shares|webhook-lanes)\.test/,
  /(^|[/-])differential(-\w+)?\.test/,
  // What waits for real time to pass.
  /\/conformance\/(dkim-looks|mail-hours|stored-bytes)\.test/,
  /\/net\/(caching-resolver|resolver-tries)\.test/,
  /\/scenarios\/(dkim-domains|hanging-mail|search-mail)\.test/,
  /\/mcp\/test\/waiting\.test/,
]

/** Whether a quick run has this file. */
export function isQuickFile(path: string): boolean {
  return !FULL_ONLY.some((pattern) => pattern.test(path))
}

/** What a test file does that others in its process would feel, or would disturb. */
const ALONE = [
  // They measure memory, or how long the event loop was held up.
  /\/http\/(collect-body|large-bodies|long-answers|websocket)\.test/,
  /\/mail\/(line-ends|mime-bounds|parser-pool)\.test/,
  /\/scenarios\/(hostile-mail|long-bodies)\.test/,
  /\/smtp\/(client-broken-peers|limits)\.test/,
  // Three hundred deliveries, none of which may wait for half a second.
  /\/net\/transport-connections\.test/,
  // They change what belongs to the process: its folder, its clusters.
  /\/scenarios\/operating-files\.test/,
  /\/peers\/postgres\.test/,
]

/** They wait more than they work, for services that they start, kill and start again. */
const WAITING = /\/test\/crash\//

/** So few that the last of them does not end after everything else. */
const WAITING_GROUP_FILES_MAX = 6

/** They take longest; one of them begun last would run on alone. */
const FIRST = [WAITING, /\/scenarios\/(hostile-mail|long-bodies)\.test/]

/** More save little: most starts are saved already. */
const GROUP_FILES_MAX = 16

/** The processes of a run in the order of their start, each with the files that it runs. */
export function planRun(paths: readonly string[]): string[][] {
  const isAlone = (path: string) => ALONE.some((pattern) => pattern.test(path))
  const alone = paths.filter(isAlone).map((path) => [path])
  const together = paths.filter((path) => !isAlone(path))
  const waiting = together.filter((path) => WAITING.test(path))
  const working = together.filter((path) => !WAITING.test(path))
  const groups = [
    ...groupsOf(waiting, WAITING_GROUP_FILES_MAX),
    // Neighbours in the list load the same modules.
    ...groupsOf(working, GROUP_FILES_MAX),
  ]
  return [...alone, ...groups].sort((one, other) => rank(one) - rank(other))
}

/** As even as can be. */
function groupsOf(paths: readonly string[], filesMax: number): string[][] {
  const count = Math.ceil(paths.length / filesMax)
  return Array.from({ length: count }, (_, index) =>
    paths.slice(
      Math.round((index * paths.length) / count),
      Math.round(((index + 1) * paths.length) / count),
    ),
  )
}

function rank(paths: readonly string[]): number {
  const ranks = paths.map((path) => FIRST.findIndex((pattern) => pattern.test(path)))
  return Math.min(...ranks.map((found) => (found === -1 ? FIRST.length : found)))
}
