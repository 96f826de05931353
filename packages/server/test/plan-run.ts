// In which order and in which processes the test files run: those that need a process of their own
// alone, all others several to one, because loading the service costs more than most files do.

/** What a test file does that others in its process would feel, or would disturb. */
const ALONE = [
  // Processes that are killed, storage that is full: they wait more than they work.
  /\/test\/crash\//,
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

/** They take longest; one of them begun last would run on alone. */
const FIRST = [
  /\/crash\/(intake-kills|outbound-kills|outbound-long-queue|outbound-processes|start|webhook-(endpoints|kills))\.test/,
  /\/scenarios\/(hostile-mail|long-bodies)\.test/,
  /\/smtp\/differential-bodies\.test/,
  /\/test\/crash\//,
  /\/scenarios\/(accounts-first-start|accounts-commands|dns-command|sealed-keys)\.test/,
]

/** More save little: most starts are saved already. */
const GROUP_FILES_MAX = 16

/** The processes of a run in the order of their start, each with the files that it runs. */
export function planRun(paths: readonly string[]): string[][] {
  const isAlone = (path: string) => ALONE.some((pattern) => pattern.test(path))
  const alone = paths.filter(isAlone).map((path) => [path])
  const together = paths.filter((path) => !isAlone(path))
  const groupCount = Math.ceil(together.length / GROUP_FILES_MAX)
  // Neighbours in the list load the same modules; the groups are as even as can be.
  const groups = Array.from({ length: groupCount }, (_, index) =>
    together.slice(
      Math.round((index * together.length) / groupCount),
      Math.round(((index + 1) * together.length) / groupCount),
    ),
  )
  return [...alone, ...groups].sort((one, other) => rank(one) - rank(other))
}

function rank(paths: readonly string[]): number {
  const ranks = paths.map((path) => FIRST.findIndex((pattern) => pattern.test(path)))
  return Math.min(...ranks.map((found) => (found === -1 ? FIRST.length : found)))
}
