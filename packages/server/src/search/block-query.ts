// A search query as the index is asked it: what the words of an entry must be, what its message is asked beside, and
// the period in which all matches lie.

import type { Period } from '#mailbox/store/filters.ts'
import type { TextQuery } from '#platform/db/text-index.ts'
import type { BlockQuery, MessageQuery } from '#search/store/query-index.ts'
import type { SearchNode, SearchPhrase } from './parse-query.ts'

/** Without `hasSigns` the entries may be of an earlier version, which has no words with signs. */
export function toBlockQuery(root: SearchNode, { hasSigns }: { hasSigns: boolean }): BlockQuery {
  const text = textAround(root, hasSigns)
  // What is only about words is asked of the index alone.
  const parts = root.kind === 'all' ? root.parts : [root]
  const rest = parts.filter((part) => !isText(part)).map((part) => restOf(part, hasSigns))
  const [only] = rest
  if (only === undefined) return { text, rest: null }
  return { text, rest: rest.length === 1 ? only : { kind: 'all', parts: rest } }
}

/** What every match has in its words; null for nothing. */
function textAround(node: SearchNode, hasSigns: boolean): TextQuery | null {
  if (isText(node)) return textOf(node, hasSigns)
  if (!('parts' in node)) return null
  const parts = node.parts.map((part) => textAround(part, hasSigns))
  const asked = parts.filter((part) => part !== null)
  if (asked.length === 0 || (node.kind === 'any' && asked.length < parts.length)) return null
  return { kind: node.kind, parts: asked }
}

function restOf(node: SearchNode, hasSigns: boolean): MessageQuery {
  if (isText(node)) return { kind: 'text', query: textOf(node, hasSigns) }
  if (node.kind === 'not') return { kind: 'not', part: restOf(node.part, hasSigns) }
  if (!('parts' in node)) return node
  return { kind: node.kind, parts: node.parts.map((part) => restOf(part, hasSigns)) }
}

type TextNode =
  | SearchPhrase
  | { readonly kind: 'all' | 'any'; readonly parts: readonly TextNode[] }
  | { readonly kind: 'not'; readonly part: TextNode }

function isText(node: SearchNode): node is TextNode {
  if (node.kind === 'not') return isText(node.part)
  return 'parts' in node ? node.parts.every(isText) : node.kind === 'phrase'
}

function textOf(node: TextNode, hasSigns: boolean): TextQuery {
  if (node.kind === 'not') return { kind: 'not', part: textOf(node.part, hasSigns) }
  if (node.kind !== 'phrase') {
    return { kind: node.kind, parts: node.parts.map((part) => textOf(part, hasSigns)) }
  }
  const { words, signed, fields, isPrefix } = node
  const phrase: TextQuery = { kind: 'phrase', words, fields, isPrefix }
  if (!hasSigns) return phrase
  const withSigns = signed
    .filter((word) => word !== null)
    .map((word): TextQuery => ({ kind: 'phrase', words: [word], fields, isPrefix: false }))
  if (withSigns.length === 0) return phrase
  return { kind: 'all', parts: [phrase, ...withSigns] }
}

const ALWAYS: Period = { fromMs: null, untilMs: null }

/** A period around the times of all matches. It ends before it begins when there can be none. */
export function periodOf(node: SearchNode): Period {
  if (node.kind === 'since') return { fromMs: node.ms, untilMs: null }
  if (node.kind === 'not' && node.part.kind === 'since') {
    return { fromMs: null, untilMs: node.part.ms }
  }
  if (!('parts' in node)) return ALWAYS
  const periods = node.parts.map(periodOf)
  const froms = periods.map(({ fromMs }) => fromMs)
  const untils = periods.map(({ untilMs }) => untilMs)
  if (node.kind === 'all') return { fromMs: highest(froms), untilMs: lowest(untils) }
  return {
    fromMs: froms.includes(null) ? null : lowest(froms),
    untilMs: untils.includes(null) ? null : highest(untils),
  }
}

function highest(bounds: readonly (number | null)[]): number | null {
  const given = bounds.filter((bound) => bound !== null)
  return given.length === 0 ? null : Math.max(...given)
}

function lowest(bounds: readonly (number | null)[]): number | null {
  const given = bounds.filter((bound) => bound !== null)
  return given.length === 0 ? null : Math.min(...given)
}
