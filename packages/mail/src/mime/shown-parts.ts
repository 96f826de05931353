// Determines which texts of a message mail programs show (RFC 2046 §5.1.4, RFC 2387).

import { isHtmlPart, type MimePart } from './mime-parts.ts'

type Parts = readonly MimePart[]

/**
 * Returns the parts, with every text that no mail program shows turned into a file: a component of
 * a multipart/related that is not its root, and HTML that is an alternative to later HTML. Plain
 * text beside HTML is kept, because a message has a text and an HTML body. `hasUnseen` reports such
 * texts, plain text in a message without HTML, and an alternative of another type, such as AMP.
 */
export function shownParts(
  parts: Parts,
  raw: Buffer,
): { readonly shown: Parts; readonly hasUnseen: boolean } {
  if (parts.length < 2) return { shown: parts, hasUnseen: false }
  const roots = rootsOf(parts)
  const choices = choicesOf(parts, roots, raw)
  const hasHtml = parts.some((part) => part.kind === 'text' && isHtmlPart(part))
  let hasUnseen = false
  const shown = parts.map((part, index) => {
    hasUnseen ||= isForeignChoice(part, parts)
    if (part.kind !== 'text') return part
    const isShown =
      isIn(roots, part, index) && (choices === null || isIn(choices(part), part, index))
    if (isShown || isBlank(part, raw)) return part
    hasUnseen = true
    // Programs differ on messages with several plain texts; some show all of them.
    if (!hasHtml || (!isHtmlPart(part) && isIn(roots, part, index))) return part
    return { ...part, kind: 'file' as const }
  })
  return { shown, hasUnseen }
}

/** The shown part of each multipart, by index. */
type Shown = ReadonlyMap<number, number>

/** The direct child of the multipart at `level` of `within` that is or contains this part. */
function childAt({ within }: MimePart, index: number, level: number): number {
  return within[level + 1] ?? index
}

function isIn(shown: Shown, part: MimePart, index: number): boolean {
  return part.within.every((multipart, level) => {
    const wanted = shown.get(multipart)
    return wanted === undefined || wanted === childAt(part, index, level)
  })
}

function typeOf(parts: Parts, index: number | undefined): string {
  return index === undefined ? '' : (parts[index]?.contentType.value ?? '')
}

/** The part that `start` names, or else the first part (RFC 2387 §3.2). */
function rootsOf(parts: Parts): Shown {
  const roots = new Map<number, number>()
  const named = new Set<number>()
  for (const [index, part] of parts.entries()) {
    const parent = part.within.at(-1)
    if (parent === undefined || typeOf(parts, parent) !== 'multipart/related') continue
    const start = parts[parent]?.contentType.parameters.get('start')
    const isNamed = start !== undefined && bare(start) === bare(part.contentId ?? '')
    if (roots.has(parent) && (!isNamed || named.has(parent))) continue
    roots.set(parent, index)
    if (isNamed) named.add(parent)
  }
  // If the root is a file, it is unknown what programs show.
  const texts = new Set(
    parts.flatMap((part, index) => (part.kind === 'text' ? [...part.within, index] : [])),
  )
  for (const [multipart, root] of roots) if (!texts.has(root)) roots.delete(multipart)
  return roots
}

function bare(id: string): string {
  return id.trim().replace(/^<|>$/g, '')
}

/** The last alternative with HTML, or else the last one with text; null without a choice. */
function choicesOf(parts: Parts, roots: Shown, raw: Buffer): ((part: MimePart) => Shown) | null {
  const html = new Map<number, number>()
  const plain = new Map<number, number>()
  for (const [index, part] of parts.entries()) {
    if (part.kind !== 'text' || !isIn(roots, part, index) || isBlank(part, raw)) continue
    for (const [level, multipart] of part.within.entries()) {
      if (typeOf(parts, multipart) !== 'multipart/alternative') continue
      const last = isHtmlPart(part) ? html : plain
      last.set(multipart, childAt(part, index, level))
    }
  }
  if (html.size === 0 && plain.size === 0) return null
  for (const multipart of html.keys()) plain.delete(multipart)
  return (part) => (isHtmlPart(part) ? html : plain)
}

/** AMP and other forms of a text, which only some programs show. */
function isForeignChoice(
  { kind, contentType, disposition, within }: MimePart,
  parts: Parts,
): boolean {
  const isChoice = typeOf(parts, within.at(-1)) === 'multipart/alternative'
  if (kind !== 'file' || !isChoice || disposition?.value === 'attachment') return false
  return /^application\/(?:xhtml\+xml|rtf)$|^text\/(?!plain$|html$|calendar$|(?:x-)?vcard$|directory$)/.test(
    contentType.value,
  )
}

function isBlank({ content: { start, end } }: MimePart, raw: Buffer): boolean {
  for (let at = start; at < end; at++) if ((raw[at] ?? 0) > 0x20) return false
  return true
}
