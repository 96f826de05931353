#!/usr/bin/env node
// The entry of the packed program. The rest is loaded only by a Node.js that can read it.

const NODE_MAJOR_MIN = 20

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) {
  const { runCommandLine } = await import('#command-line.ts')
  await runCommandLine(process.argv)
} else {
  process.stderr.write(
    `mailroom: this needs Node.js ${NODE_MAJOR_MIN} or newer, and this is ${process.version}.\n`,
  )
  process.exitCode = 1
}

export {}
