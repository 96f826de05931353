// Tables of cases in text files: a preamble, then groups. A line with `@ ` and a name begins a group; each of the
// next lines is a case, with ` ¦ ` between its cells.

import { readFileSync } from 'node:fs'

export type Group = {
  readonly name: string
  readonly rows: readonly (readonly string[])[]
}

export function readTable(file: URL): Group[] {
  const [, ...groups] = readFileSync(file, 'utf8').split(/^@ /m)
  return groups.map((group) => {
    const [name = '', ...lines] = group.trimEnd().split('\n')
    return { name, rows: lines.map((line) => line.split('¦').map((cell) => cell.trim())) }
  })
}
