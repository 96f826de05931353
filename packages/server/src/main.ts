#!/usr/bin/env node
// The command line of the service.

import { runCommandLine } from '#commands/command-line.ts'

await runCommandLine(process.argv)
