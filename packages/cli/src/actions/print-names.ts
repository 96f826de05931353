// The names of the account's resources, one a line, for the completion of a shell.

import { findService, type ServiceOptions } from '#base/session.ts'
import type { NameKind } from '#completion.ts'

type Row = Readonly<Record<string, string | null>>

const SOURCES: Record<NameKind, { path: string; namesOf: (row: Row) => (string | null)[] }> = {
  inbox: {
    path: '/v1/inboxes?limit=100',
    namesOf: ({ address = '' }) => [address?.split('@')[0] ?? '', address],
  },
  pod: { path: '/v1/pods?limit=100', namesOf: ({ clientId, id = '' }) => [clientId ?? id] },
  domain: { path: '/v1/domains?limit=100', namesOf: ({ domain = '' }) => [domain] },
  label: { path: '/v1/labels?limit=100', namesOf: ({ label = '' }) => [label] },
}

/** A person waits at a prompt: after this time, or any error, there are no names. */
const WAIT_MS_MAX = 1_000

export async function printNames(kind: NameKind, options: ServiceOptions): Promise<void> {
  const names = await readNames(kind, options).catch(() => [])
  // Names with other characters would need quoting in a shell.
  const plain = names.filter((name) => name !== null && /^[\p{L}\p{M}\p{N}@._+/-]+$/u.test(name))
  process.stdout.write([...new Set(plain)].map((name) => `${name}\n`).join(''))
}

async function readNames(kind: NameKind, options: ServiceOptions): Promise<(string | null)[]> {
  const { path, namesOf } = SOURCES[kind]
  const { baseUrl, apiKey } = await findService(options)
  const response = await fetch(baseUrl + path, {
    headers: { Authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(WAIT_MS_MAX),
  })
  const { data } = (await response.json()) as { data: Row[] }
  return data.flatMap(namesOf)
}
