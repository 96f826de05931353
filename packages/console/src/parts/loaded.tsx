// Shows data that is loading, failed or loaded.

import type { ComponentChildren } from 'preact'
import type { Resource } from '#data/use-resource.ts'
import { Skeleton, Trouble } from './notice.tsx'

export function Loaded<Value>({
  resource: { value, error, reload },
  label,
  children,
}: {
  resource: Resource<Value>
  /** Text for screen readers while loading. */
  label: string
  children: (value: Value) => ComponentChildren
}) {
  if (value !== undefined) return <>{children(value)}</>
  return error ? <Trouble error={error} retry={reload} /> : <Skeleton rows={3} label={label} />
}
