// Messages of a folder with what is read from each: `name.eml` beside `name.expected.json`. Another case is two files
// more.

import { readdirSync, readFileSync } from 'node:fs'

export type Sample<Expected> = {
  readonly name: string
  readonly raw: Buffer
  readonly expected: Expected
}

export function samplesIn<Expected>(folder: URL): Sample<Expected>[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.eml'))
  return files.map((file) => {
    const name = file.slice(0, -'.eml'.length)
    const expected = readFileSync(new URL(`${name}.expected.json`, folder), 'utf8')
    return { name, raw: readFileSync(new URL(file, folder)), expected: JSON.parse(expected) }
  })
}
