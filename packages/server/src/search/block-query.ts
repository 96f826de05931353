// Splits a search query into words for the index, conditions on messages, and a period.

import type { Period } from '#mailbox/store/filters.ts'
import type { TextQuery } from '#platform/db/text-index.ts'
import type { BlockQuery, MessageQuery } from '#search/store/query-index.ts'
import type { SearchNode, SearchPhrase } from './parse-query.ts'

export function toBlockQuery(root: SearchNode): BlockQuery {
  const text = textAround(root)
  const parts = root.kind === 'all' ? root.parts : [root]
  const rest = parts.filter((part) => !isText(part)).map((part) => restOf(part))
  const [only] = rest
  if (only === undefined) return { text, rest: null }
  return { text, rest: rest.length === 1 ? only : { kind: 'all', parts: rest } }
}

function textAround(node: SearchNode): TextQuery | null {
  if (isText(node)) return textOf(node)
  if (!('parts' in node)) return null
  const parts = node.parts.map((part) => textAround(part))
  const asked = parts.filter((part) => part !== null)
  if (asked.length === 0 || (node.kind === 'any' && asked.length < parts.length)) return null
  return { kind: node.kind, parts: asked }
}

function restOf(node: SearchNode): MessageQuery {
  if (isText(node)) return { kind: 'text', query: textOf(node) }
  if (node.kind === 'not') return { kind: 'not', part: restOf(node.part) }
  if (!('parts' in node)) return node
  return { kind: node.kind, parts: node.parts.map((part) => restOf(part)) }
}

type TextNode =
  | SearchPhrase
  | { readonly kind: 'all' | 'any'; readonly parts: readonly TextNode[] }
  | { readonly kind: 'not'; readonly part: TextNode }

function isText(node: SearchNode): node is TextNode {
  if (node.kind === 'not') return isText(node.part)
  return 'parts' in node ? node.parts.every(isText) : node.kind === 'phrase'
}

function textOf(node: TextNode): TextQuery {
  if (node.kind === 'not') return { kind: 'not', part: textOf(node.part) }
  if (node.kind !== 'phrase') {
    return { kind: node.kind, parts: node.parts.map((part) => textOf(part)) }
  }
  const { words, signed, fields, isPrefix } = node
  const phrase: TextQuery = { kind: 'phrase', words, fields, isPrefix }
  const withSigns = signed
    .filter((word) => word !== null)
    .map((word): TextQuery => ({ kind: 'phrase', words: [word], fields, isPrefix: false }))
  if (withSigns.length === 0) return phrase
  return { kind: 'all', parts: [phrase, ...withSigns] }
}

const ALWAYS: Period = { fromMs: null, untilMs: null }

/** Returns a period that contains all matches; it is empty if `untilMs` is not after `fromMs`. */
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
