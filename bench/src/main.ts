// `npm run bench -- NAME`: runs a benchmark and prints its figures.

import { claims } from './claims.ts'
import { deliver } from './deliver.ts'
import { engines } from './engines.ts'
import { intake } from './intake.ts'
import { intakeDns } from './intake-dns.ts'
import { intakeThreads } from './intake-threads.ts'
import { latency } from './latency.ts'
import { list } from './list.ts'
import { peers } from './peers.ts'
import { queue } from './queue.ts'
import { retention } from './retention.ts'
import { scale } from './scale.ts'
import { search } from './search.ts'
import { send } from './send.ts'
import { soak } from './soak.ts'
import { transfers } from './transfers.ts'

const benchmarks: Record<string, (args: string[]) => Promise<void>> = {
  claims,
  intake,
  'intake-dns': intakeDns,
  'intake-threads': intakeThreads,
  list,
  send,
  deliver,
  queue,
  retention,
  latency,
  search,
  scale,
  peers,
  transfers,
  engines,
  soak,
}

const [name = '', ...rest] = process.argv.slice(2)
const benchmark = benchmarks[name]
if (benchmark === undefined) {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(benchmarks).join('|')} [options]\n`)
  process.exit(2)
}
await benchmark(rest)
