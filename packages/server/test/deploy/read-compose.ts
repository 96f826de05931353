// Parses a compose file into its services. Throws at keys that ours does not use, so that nothing is ignored.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'

type Text = string | number | boolean

export type ComposeService = {
  readonly image?: string
  readonly build?: { readonly context: string; readonly target: string }
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, Text>>
  readonly env_file?: string
  readonly volumes?: readonly string[]
  readonly secrets?: readonly string[]
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly network_mode?: string
  readonly read_only?: boolean
  readonly restart?: string
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> }
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
}

export type Compose = {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
  /** Their files, relative to the folder of the file. */
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

const KNOWN_KEYS = new Set([
  ...['image', 'build', 'command', 'entrypoint', 'environment', 'env_file', 'volumes', 'secrets'],
  ...['ports', 'profiles', 'depends_on', 'network_mode', 'read_only', 'restart'],
  ...[
    'healthcheck',
    'init',
    'logging',
    'tmpfs',
    'cap_drop',
    'security_opt',
    'stop_grace_period',
    'shm_size',
  ],
])

/** Throws at a key of a service that it does not know. */
export function readCompose(text: string): Compose {
  const compose = parse(text, { merge: true }) as Compose
  for (const [name, service] of Object.entries(compose.services)) {
    const strange = Object.keys(service).filter((key) => !KNOWN_KEYS.has(key))
    if (strange.length > 0) throw new Error(`service ${name}: not known: ${strange.join(', ')}`)
  }
  return compose
}

/** The environment of a process of the service; `folder` is that of the file. */
export function environmentOf(service: ComposeService, folder: string): Record<string, string> {
  const file = service.env_file === undefined ? '' : join(folder, service.env_file)
  const fromFile = file === '' ? {} : parseEnv(readFileSync(file, 'utf8'))
  const own = Object.entries(service.environment ?? {}).map(([name, value]) => [
    name,
    String(value),
  ])
  return { ...fromFile, ...Object.fromEntries(own) }
}

/** Services without a profile, each after those that it waits for. */
export function startOrder({ services }: Compose): string[] {
  const order: string[] = []
  const add = (name: string, path: readonly string[]) => {
    if (order.includes(name)) return
    if (path.includes(name)) throw new Error(`wait for each other: ${[...path, name].join(' → ')}`)
    const service = services[name]
    if (service === undefined)
      throw new Error(`${path.at(-1)} waits for ${name}, which is not there`)
    for (const other of Object.keys(service.depends_on ?? {})) add(other, [...path, name])
    order.push(name)
  }
  for (const [name, { profiles }] of Object.entries(services)) {
    if (profiles === undefined) add(name, [])
  }
  return order
}
