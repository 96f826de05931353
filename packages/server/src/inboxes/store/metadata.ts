import { METADATA_KEYS_MAX } from '@mailroom/contract/labels.ts'

export type MetadataRow = { metadata: string | null }

/** Null as a value removes the key; null instead of the object removes all keys (RFC 7396). */
export type MetadataChange = Readonly<Record<string, string | null>> | null

export function metadataOf({ metadata }: MetadataRow): Record<string, string> {
  return metadata === null ? {} : JSON.parse(metadata)
}

/** Undefined if the change would exceed METADATA_KEYS_MAX. */
export function changedMetadata(
  row: MetadataRow,
  change: MetadataChange,
): string | null | undefined {
  const entries = new Map(Object.entries(change === null ? {} : metadataOf(row)))
  for (const [key, value] of Object.entries(change ?? {})) {
    if (value === null) entries.delete(key)
    else entries.set(key, value)
  }
  if (entries.size > METADATA_KEYS_MAX) return undefined
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1))
  return sorted.length === 0 ? null : JSON.stringify(Object.fromEntries(sorted))
}

/** The text by which lists are filtered. */
function metadataFacet(key: string, value: string): string {
  return `metadata.${key}=${value}`
}

export function metadataFacets(metadata: Readonly<Record<string, string>>): string[] {
  return Object.entries(metadata).map(([key, value]) => metadataFacet(key, value))
}
