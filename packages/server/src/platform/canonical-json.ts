// Canonical JSON (RFC 8785): equal values have equal texts and therefore equal digests.

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** Lone surrogates, which RFC 8785 §3.2.2.2 does not allow, become U+FFFD. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed())
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map((name) => `${canonicalJson(name)}:${canonicalJson(value[name] ?? null)}`)
  return `{${members.join(',')}}`
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value)
}
