// Which version of the program this is.

import { readFileSync } from 'node:fs'

/** As its package says; read once, when first asked for. */
export function programVersion(): string {
  version ??= JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ).version
  return version ?? ''
}

let version: string | undefined
