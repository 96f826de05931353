// The entry of `npm run test:browser`: builds the console and lets a real Chromium walk it, against a
// real service. Arguments are parts of the names of the files in test/browser to run.

import { globSync } from 'node:fs'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { buildConsole } from '@mailroom/console/build.ts'
import { findChromium } from '#test/browser/chromium.ts'

/** Most of the time a walk waits for the service or the browser. */
const FILES_AT_ONCE = 2
/** The longest takes two minutes. */
const FILE_MS_MAX = 15 * 60_000
const folder = new URL('./browser/', import.meta.url).pathname
const wanted = process.argv.slice(2)

if (findChromium() === null) {
  console.error(
    'There is no Chromium. Install it (Debian: apt-get install -y chromium), or name one in CHROMIUM_PATH.',
  )
  process.exit(1)
}
const files = globSync('*-walk.ts', { cwd: folder })
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort()
  .map((name) => folder + name)
if (files.length === 0) {
  console.error(`No file in test/browser matches ${wanted.join(' or ')}.`)
  process.exit(1)
}
await buildConsole()
run({ files, concurrency: FILES_AT_ONCE, timeout: FILE_MS_MAX })
  .on('test:summary', ({ file, success }) => {
    if (file === undefined && !success) process.exitCode = 1
  })
  .compose(new spec())
  .pipe(process.stdout)
