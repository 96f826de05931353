// The corpus run: every message of a folder through the service and back, compared with what
// independent parsers agree on. `node packages/server/test/corpus.ts [--parser] <folder>`; with
// `--parser` in this process, without sockets and database. Exits 1 below the goals, 2 without a
// folder.

import { statSync } from 'node:fs'
import { readAgreed } from '#test/corpus/compare.ts'
import { feedFolder } from '#test/corpus/feed.ts'
import { reportFeed } from '#test/corpus/feed-report.ts'
import { parseFolder } from '#test/corpus/parse-folder.ts'

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const [folder] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
process.exitCode = await run()

async function run(): Promise<number> {
  const trouble = troubleWith(folder)
  if (folder === undefined || trouble !== null) {
    process.stderr.write(`${trouble}\nUsage: npm run corpus -- [--parser] <folder>\n`)
    return 2
  }
  if (flags.includes('--parser')) return parseFolder(folder)
  return reportFeed(await feedFolder(folder), readAgreed(folder))
}

function troubleWith(path: string | undefined): string | null {
  const stranger = flags.find((flag) => flag !== '--parser')
  if (stranger !== undefined) return `There is no option ${stranger}.`
  if (path === undefined) return 'No folder of messages was named; none comes with the project.'
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return `The folder ${path} is absent.`
  return found.isDirectory() ? null : `${path} is not a folder.`
}
