// Facets are texts for a thread's labels, metadata and assignee; lists filter by them.

import { FACETS_MAX, LABEL_PATTERN, LABEL_RULE, LABELS_MAX } from '@mailroom/contract/labels.ts'
import { metadataFacets } from '#inboxes/store/metadata.ts'
import { wrongField, wrongQuery } from '#platform/problem.ts'

export function labelFacet(label: string): string {
  return `label=${label}`
}

export function assigneeFacet(assignee: string): string {
  return `assignee=${assignee}`
}

type Marked = {
  readonly labels: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  readonly assignee: string | null
}

export function facetsOf({ labels, metadata, assignee }: Marked): string[] {
  const assigned = assignee === null ? [] : [assigneeFacet(assignee)]
  return [...labels.map(labelFacet), ...assigned, ...metadataFacets(metadata)]
}

export type LabelChange = {
  readonly addLabels?: readonly string[]
  readonly removeLabels?: readonly string[]
}

export function labelsOf({ labels }: { labels: string | null }): string[] {
  return labels === null ? [] : JSON.parse(labels)
}

/** Returns the sorted labels, or null if there are too many. */
export function changedLabels(
  labels: readonly string[],
  { addLabels = [], removeLabels = [] }: LabelChange,
): string[] | null {
  const kept = labels.filter((label) => !removeLabels.includes(label))
  const changed = [...new Set([...kept, ...addLabels])].sort()
  return changed.length > LABELS_MAX ? null : changed
}

/** Throws `bad_request` if a label is both added and removed. */
export function requireClearLabels({ addLabels = [], removeLabels = [] }: LabelChange): void {
  const index = removeLabels.findIndex((label) => addLabels.includes(label))
  if (index < 0) return
  const label = JSON.stringify(removeLabels[index])
  throw wrongField(`removeLabels[${index}]`, `is ${label}, which is also in addLabels`)
}

const LABEL = new RegExp(LABEL_PATTERN)

export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/** Returns the distinct labels of a filter. Throws `bad_request` if a label is invalid. */
export function readLabelsFilter(list: string | undefined): string[] {
  const words = (list?.split(',') ?? []).map((word) => word.trim()).filter((word) => word !== '')
  const wrong = words.find((word) => !LABEL.test(word))
  if (wrong !== undefined) {
    throw wrongQuery(
      'labels',
      `contains ${JSON.stringify(wrong.slice(0, 100))}: each ${LABEL_RULE}`,
    )
  }
  const labels = [...new Set(words)]
  requireFewFacets('labels', labels)
  return labels
}

export function requireFewFacets(path: string, facets: readonly string[]): void {
  if (facets.length > FACETS_MAX) {
    throw wrongQuery(path, `must name at most ${FACETS_MAX}`)
  }
}
