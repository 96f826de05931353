// Histograms of durations, whose classes are narrow enough for percentiles within ten percent.

/** Number of durations in each class; empty classes are absent. */
export type Latencies = Readonly<Record<string, number>>

const CLASSES_PER_DOUBLING = 4
/** Two days; nothing is retried for longer. */
const CLASS_MAX = 120

export function latencyClass(ms: number): number {
  if (ms <= 1) return 0
  return Math.min(CLASS_MAX, Math.ceil(CLASSES_PER_DOUBLING * Math.log2(ms)))
}

export function addLatencies(one: Latencies, other: Latencies): Latencies {
  const sum: Record<string, number> = { ...one }
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count
  return sum
}

/** Returns whole milliseconds; null if there are no durations. `share` is between 0 and 1. */
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

function timeOf(index: number): number {
  return index === 0 ? 1 : Math.round(2 ** ((index - 0.5) / CLASSES_PER_DOUBLING))
}
