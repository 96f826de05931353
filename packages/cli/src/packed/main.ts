#!/usr/bin/env node
// The entry point of the packed program. The rest is loaded only if Node.js is recent enough.

const NODE_MAJOR_MIN = 20

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) {
  const { runCommandLine } = await import('#command-line.ts')
  await runCommandLine(process.argv)
} else {
  process.stderr.write(
    `mailroom: requires Node.js ${NODE_MAJOR_MIN} or newer; this is ${process.version}.\n`,
  )
  process.exitCode = 1
}

export {}
