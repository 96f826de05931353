// The body of one mail as a model reads it: HTML as Markdown, text as it is, without what a person
// would not see, with quoted history folded and long links shortened; and what was done to it.

import { endsLikeAttribution, findAttribution } from '#reply/reply-text.ts'
import { EarlierTexts } from './earlier-texts.ts'
import { FOLD_CLOSING, FOLD_OPENING } from './fold-quotes.ts'
import { htmlToMarkdown } from './html-to-markdown.ts'
import { LinkShortener } from './link-text.ts'
import {
  type Folded,
  finishBody,
  foldLine,
  plainBody,
  type ViewBody,
  type ViewSource,
} from './plain-body.ts'
import { type Removal, RemovalTally } from './removal.ts'

/**
 * HTML goes before text, for it is what people are shown: a text part beside it may say anything. The
 * text stands in where the HTML holds none, or cannot be read within bounds. Never rejects. With HTML
 * not for the main thread.
 */
export async function viewBody({ html, ...source }: ViewSource): Promise<ViewBody> {
  const { text, hasFullLinks } = source
  const earlier = new EarlierTexts(source.isUnfolded ? [] : (source.earlier ?? []))
  const tally = new RemovalTally()
  const links = new LinkShortener(hasFullLinks)
  const markdown = html === '' ? null : await htmlToMarkdown(html, { links, tally, earlier })
  if (markdown === null) return plainBody({ ...source, isHtmlUnread: html !== '' })
  const { pixels, pictures } = markdown
  const folded = foldMarked(links.shortenAll(markdown.text))
  if (folded.text === '' && text.trim() !== '') {
    // A stub of pictures: what a person sees of it is in them.
    const plain = plainBody({ ...source, isHtmlUnread: false })
    return { ...plain, removed: sum(tally.list(), plain.removed), pixels, pictures }
  }
  return finishBody(folded.text, {
    source: 'html',
    removed: tally.list(),
    foldedLines: folded.lines,
    shortenedLinks: links.count,
    pixels,
    pictures,
  })
}

function sum(one: readonly Removal[], other: readonly Removal[]): Removal[] {
  const tally = new RemovalTally()
  for (const { kind, characters } of [...one, ...other]) tally.add(kind, characters)
  return tally.list()
}

/** A paragraph that a fold stands in; the number is ours, for no text holds the characters around it. */
const FOLD = new RegExp(`^${FOLD_OPENING}(\\d{1,9})${FOLD_CLOSING}$`)

/** Puts words where quotes were, and the lines that say who wrote them away. */
function foldMarked(text: string): Folded {
  if (!text.includes(FOLD_OPENING)) return { text, lines: 0 }
  const kept: string[] = []
  let lines = 0
  for (const line of text.split('\n')) {
    const found = FOLD.exec(line.replace(/^(?:[>\s]|- )+/, ''))
    if (found === null) {
      kept.push(line.replaceAll(FOLD_OPENING, '').replaceAll(FOLD_CLOSING, ''))
      continue
    }
    const count = Number(found[1]) + dropAttribution(kept)
    lines += count
    kept.push(foldLine(count))
  }
  return { text: kept.join('\n').trim(), lines }
}

/** Of the last paragraph of `lines`; returns how many lines went. */
function dropAttribution(lines: string[]): number {
  let end = lines.length - 1
  while (end >= 0 && lines[end]?.trim() === '') end--
  const line = lines[end]
  if (line === undefined || !endsLikeAttribution(line)) return 0
  const attribution = findAttribution(lines, 0, end, true)
  if (attribution === null) return 0
  const { linesBefore, textBefore } = attribution
  const kept = textBefore === '' ? [] : [textBefore, '']
  lines.splice(end - linesBefore, lines.length, ...kept)
  return linesBefore + 1
}
