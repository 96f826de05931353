import { readFileSync } from 'node:fs'

/** The version of this program, from its package; read once. */
export function programVersion(): string {
  version ??= JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ).version
  return version ?? ''
}

let version: string | undefined
