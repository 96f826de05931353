// How long things took, kept as how many fell into which class of time: classes are so narrow that a
// percentile read from them is within ten percent.

/** How many by class; classes without any are left out. */
export type Latencies = Readonly<Record<string, number>>

/** Four classes for each doubling. */
const CLASSES_PER_DOUBLING = 4
/** Two days: nothing is tried for longer. */
const CLASS_MAX = 120

/** The class of a time in milliseconds. */
export function latencyClass(ms: number): number {
  if (ms <= 1) return 0
  return Math.min(CLASS_MAX, Math.ceil(CLASSES_PER_DOUBLING * Math.log2(ms)))
}

/** Of both together. */
export function addLatencies(one: Latencies, other: Latencies): Latencies {
  const sum: Record<string, number> = { ...one }
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count
  return sum
}

/** The time that `share` of them (0 to 1) did not exceed, in whole milliseconds; null for none. */
export function latencyAt(latencies: Latencies, share: number): number | null {
  const classes = Object.entries(latencies)
    .map(([name, count]) => ({ index: Number(name), count }))
    .sort((a, b) => a.index - b.index)
  const total = classes.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return null
  let reached = 0
  for (const { index, count } of classes) {
    reached += count
    if (reached >= share * total) return timeOf(index)
  }
  return null
}

/** The middle of a class. */
function timeOf(index: number): number {
  return index === 0 ? 1 : Math.round(2 ** ((index - 0.5) / CLASSES_PER_DOUBLING))
}
