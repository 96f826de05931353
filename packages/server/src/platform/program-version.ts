import { readFileSync } from 'node:fs'

export function programVersion(): string {
  version ??= JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ).version
  return version ?? ''
}

let version: string | undefined
