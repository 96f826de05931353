// Parses a unit of systemd: its command, environment, user and folders, with specifiers replaced.

import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

export type Unit = {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Files with further variables; one that begins with `-` may be absent. */
  readonly environmentFiles: readonly string[]
  readonly user: string
  readonly group: string
  /** Below /var/lib. */
  readonly stateFolder: string
  readonly folder: string
  readonly capabilities: readonly string[]
  /** The command that makes a running one reload its files. */
  readonly reload: string
}

/** `instance` is the part of its name after the `@`. */
export function readUnit(text: string, instance = ''): Unit {
  const values = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    if (!/^\w+=/.test(line)) continue
    const [name = '', ...rest] = line.split('=')
    const value = rest.join('=').replaceAll('%i', instance).replaceAll('%S', '/var/lib')
    values.set(name, [...(values.get(name) ?? []), value])
  }
  const one = (name: string) => {
    const [value, ...more] = values.get(name) ?? []
    if (value === undefined || more.length > 0) throw new Error(`not once: ${name}`)
    return value
  }
  const pairs = (values.get('Environment') ?? []).flatMap((line) => line.split(' '))
  return {
    command: one('ExecStart').split(' '),
    environment: { ...parseEnv(pairs.join('\n')) } as Record<string, string>,
    environmentFiles: values.get('EnvironmentFile') ?? [],
    user: one('User'),
    group: one('Group'),
    stateFolder: `/var/lib/${one('StateDirectory')}`,
    folder: one('WorkingDirectory'),
    capabilities: one('AmbientCapabilities')
      .split(' ')
      .map((name) => name.replace(/^CAP_/, '').toLowerCase()),
    reload: one('ExecReload'),
  }
}

/** The environment of a process of the unit; `place` gives the folder of its files. */
export function unitEnvironment(
  unit: Unit,
  place: (path: string) => string,
): Record<string, string> {
  const files = unit.environmentFiles.map((file) => {
    try {
      return readFileSync(place(file.replace(/^-/, '')), 'utf8')
    } catch (error) {
      if (file.startsWith('-')) return ''
      throw error
    }
  })
  return { ...unit.environment, ...(parseEnv(files.join('\n')) as Record<string, string>) }
}
