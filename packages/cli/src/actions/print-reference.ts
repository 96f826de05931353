// The part of docs/cli.md that is made of the commands, for contributors.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { REFERENCE_MARK, renderReference } from '#reference/render-reference.ts'

const page = fileURLToPath(new URL('../../../../docs/cli.md', import.meta.url))

/** To standard output, or into the page, behind its mark. */
export function printReference(program: Command, { write = false }: { write?: boolean }): void {
  const reference = renderReference(program)
  if (!write) {
    process.stdout.write(reference)
    return
  }
  const [byHand = ''] = readFileSync(page, 'utf8').split(REFERENCE_MARK)
  writeFileSync(page, byHand + reference)
  process.stdout.write('wrote docs/cli.md\n')
}
