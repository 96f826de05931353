// What needs data first: loading, failed, or shown.

import type { ComponentChildren } from 'preact'
import type { Resource } from '#data/use-resource.ts'
import { Skeleton, Trouble } from './notice.tsx'

export function Loaded<Value>({
  resource: { value, error, reload },
  label,
  children,
}: {
  resource: Resource<Value>
  /** Read out while it is loading. */
  label: string
  children: (value: Value) => ComponentChildren
}) {
  if (value !== undefined) return <>{children(value)}</>
  return error ? <Trouble error={error} retry={reload} /> : <Skeleton rows={3} label={label} />
}
