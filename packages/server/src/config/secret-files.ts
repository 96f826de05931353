// Secrets in files of their own, as containers and systemd hand them out: MAILROOM_SECRET_KEY_FILE
// names the file that holds what MAILROOM_SECRET_KEY would.

import { readFileSync } from 'node:fs'
import type { Setting } from './setting.ts'

const ENDING = '_FILE'
/** A URL or a key; whoever names a disk image meant another file. */
const BYTES_MAX = 64 * 1024

type Environment = Readonly<Record<string, string | undefined>>
type Mistake = { name: string; given: string; expected: string }
type Tables = readonly Readonly<Record<string, Setting<unknown>>>[]

/** The name of each setting that may name a file, with the secret setting that the file is of. */
export function secretFileNames(tables: Tables): ReadonlyMap<string, Setting<unknown>> {
  const secrets = tables.flatMap((table) => Object.values(table)).filter((one) => one.isSecret)
  return new Map(secrets.map((setting) => [setting.name + ENDING, setting]))
}

/**
 * The environment with the secrets that lie in files, without spaces and line ends around them. A
 * mistake is a file that cannot be read, is empty or larger than 64 KiB, or is given beside its secret.
 */
export function readSecretFiles(
  given: Environment,
  tables: Tables,
): { given: Environment; mistakes: Mistake[] } {
  const mistakes: Mistake[] = []
  const found: Record<string, string> = {}
  for (const [name, setting] of secretFileNames(tables)) {
    const file = given[name]?.trim() ?? ''
    if (file === '') continue
    const isGivenTwice = (given[setting.name]?.trim() ?? '') !== ''
    const text = readSecret(file)
    if (isGivenTwice) {
      mistakes.push({ name, given: file, expected: `nothing, because ${setting.name} is given` })
    } else if (text === null) {
      mistakes.push({ name, given: file, expected: 'a readable file that holds the secret' })
    } else found[setting.name] = text
  }
  return { given: { ...given, ...found }, mistakes }
}

function readSecret(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8').trim()
    return text === '' || text.length > BYTES_MAX ? null : text
  } catch {
    return null
  }
}
