// Runs of real messages kept outside the repository. `node packages/server/test/corpus.ts <folder>`
// feeds a folder through the service and back and compares with what independent parsers agree on;
// `bounces`, `codes`, `dkim`, `files`, `kinds`, `replies`, `secrets` and `view` before the folder are runs of their own. With `--parser` in this
// process, without sockets and database. Exits 1 below the goals, 2 without a folder.

import { statSync } from 'node:fs'
import { runCodes } from '@mailroom/mail-reading/test/corpus/codes.ts'
import { readAgreed } from '@mailroom/mail-reading/test/corpus/compare.ts'
import { runKinds } from '@mailroom/mail-reading/test/corpus/kinds.ts'
import { parseFolder } from '@mailroom/mail-reading/test/corpus/parse-folder.ts'
import { runReplies } from '@mailroom/mail-reading/test/corpus/replies.ts'
import { runSecrets } from '@mailroom/mail-reading/test/corpus/secrets.ts'
import { runBounces } from '#test/corpus/bounces.ts'
import { runDkim } from '#test/corpus/dkim.ts'
import { feedFolder } from '#test/corpus/feed.ts'
import { reportFeed } from '#test/corpus/feed-report.ts'
import { runFiles } from '#test/corpus/files.ts'
import { runViews } from '#test/corpus/views.ts'

const USAGE = `Usage: npm run corpus -- [--parser] <folder>
       npm run corpus -- codes [folder]
       npm run corpus -- kinds [folder]
       npm run corpus -- bounces [--parser] <folder>
       npm run corpus -- dkim <folder>
       npm run corpus -- files <folder>
       npm run corpus -- replies <folder>
       npm run corpus -- secrets
       npm run corpus -- view <folder>
`
const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const run = /^(?:bounces|codes|dkim|files|kinds|replies|secrets|view)$/.test(words[0] ?? '')
  ? words.shift()
  : undefined
const [folder] = words
process.exitCode = await main()

async function main(): Promise<number> {
  // The messages of this run come with the project; a folder is only looked through.
  if (run === 'codes' && folder === undefined && flags.length === 0) return runCodes(undefined)
  if (run === 'kinds' && folder === undefined && flags.length === 0) return runKinds(undefined)
  if (run === 'secrets') return runSecrets()
  const trouble = troubleWith(folder)
  if (folder === undefined || trouble !== null) {
    process.stderr.write(`${trouble}\n${USAGE}`)
    return 2
  }
  const isParserOnly = flags.includes('--parser')
  if (run === 'bounces') return runBounces(folder, isParserOnly)
  if (run === 'codes') return runCodes(folder)
  if (run === 'dkim') return runDkim(folder)
  if (run === 'files') return runFiles(folder)
  if (run === 'kinds') return runKinds(folder)
  if (run === 'replies') return runReplies(folder)
  if (run === 'view') return runViews(folder)
  if (isParserOnly) return parseFolder(folder)
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
