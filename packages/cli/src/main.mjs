#!/usr/bin/env node
// The entry point of the command line. Plain JavaScript, so that an old Node.js can run this file
// and start the newer one of the checkout.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR_MIN = 24

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) await run()
else startAgain(fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url)))

async function run() {
  delete process.env.MAILROOM_STARTED_AGAIN
  // The compile cache is in the checkout, where other users cannot write.
  const cacheFolder = fileURLToPath(
    new URL('../../../node_modules/.cache/mailroom', import.meta.url),
  )
  nodeModule.enableCompileCache?.(cacheFolder)
  process.env.NODE_COMPILE_CACHE ??= cacheFolder
  const { runCommandLine } = await import('#command-line.ts')
  await runCommandLine(process.argv)
}

/** Runs the command again with the Node.js of the checkout. */
function startAgain(node) {
  if (!existsSync(node) || process.env.MAILROOM_STARTED_AGAIN) {
    process.stderr.write(
      `mailroom: requires Node.js ${NODE_MAJOR_MIN} or newer; this is ${process.version}.\n` +
        '  Run "npm ci" in the checkout to install the right version there.\n',
    )
    process.exit(1)
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, MAILROOM_STARTED_AGAIN: '1' },
  })
  // A terminal sends Ctrl-C to both processes; other senders signal only this one.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`mailroom: ${node} could not be started: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
