/**
 * Prefers a candidate that begins with `text`, then the one with the smallest Levenshtein distance.
 */
export function findNearest(text: string, candidates: readonly string[]): string {
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(text, candidate) }))
    .sort((a, b) => a.distance - b.distance)
  const nearest = ranked[0]
  if (nearest === undefined) throw new Error('there are no candidates')
  return nearest.candidate
}

function distanceOf(text: string, candidate: string): number {
  return candidate.startsWith(text) ? 0 : editDistance(text, candidate)
}

/**
 * Letters to insert, remove, replace or swap with their neighbour. Compares COMPARED_LENGTH_MAX
 * characters, because time grows with the product of the lengths.
 */
export function editDistance(left: string, right: string): number {
  const a = left.slice(0, COMPARED_LENGTH_MAX)
  const b = right.slice(0, COMPARED_LENGTH_MAX)
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwapped ? (beforePrevious[j - 2] ?? 0) + 1 : substitution
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution, swap))
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] ?? 0
}

const COMPARED_LENGTH_MAX = 100
