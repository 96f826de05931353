// The body of a message for a model: HTML as Markdown, text unchanged, without hidden text, with
// quoted history folded and long links shortened, and with a record of these changes.

import { readHtml } from '@mailroom/mail/html/tree.ts'
import type { Root } from 'hast'
import { tallyHidden } from '#html/find-hidden.ts'
import { unsaidLength } from '#html/unsaid-text.ts'
import { endsLikeAttribution, findAttribution } from '#reply/reply-text.ts'
import { type Cleaning, cleanTree } from './clean-tree.ts'
import { EarlierTexts, FOLD_CLOSING, FOLD_OPENING, foldQuotes } from './fold-quotes.ts'
import {
  type Folded,
  finishBody,
  foldLine,
  LinkShortener,
  plainBody,
  type ViewBody,
  type ViewSource,
} from './plain-body.ts'
import { countCodePoints, type Removal, RemovalTally, tallyDefects } from './removal.ts'

/**
 * The body of a message. HTML takes precedence, because people see the HTML and the text part may
 * differ. The text is used if the HTML has none or exceeds a bound. Never rejects. With HTML, must
 * not run on the main thread.
 */
export async function viewBody({ html, ...source }: ViewSource): Promise<ViewBody> {
  const { text, hasFullLinks } = source
  const earlier = new EarlierTexts(source.isUnfolded ? [] : (source.earlier ?? []))
  const tally = new RemovalTally()
  tallyDefects(source.defects ?? [], tally)
  const links = new LinkShortener(hasFullLinks)
  const markdown = html === '' ? null : await htmlToMarkdown(html, { links, tally, earlier })
  if (markdown === null) return plainBody({ ...source, isHtmlUnread: html !== '' })
  const { pixels, pictures } = markdown
  const folded = foldMarked(links.shortenAll(markdown.text))
  if (folded.text === '' && text.trim() !== '') {
    // The HTML has only pictures, and it is unknown whether they contain the words of the text.
    tally.add('unclear', countCodePoints(text.trim()))
    const plain = plainBody({ ...source, defects: [], isHtmlUnread: false })
    return { ...plain, removed: sum(tally.list(), plain.removed), pixels, pictures }
  }
  tally.add('text-part', unsaidLength(text, html))
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

/** Matches the paragraph of a fold. The characters around the number cannot occur in a message. */
const FOLD = new RegExp(`^${FOLD_OPENING}(\\d{1,9})${FOLD_CLOSING}$`)

/** Replaces folded quotes with words and removes their attributions. */
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

/** Removes an attribution at the end of `lines`; returns the number of removed lines. */
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

type Markdown = {
  /**
   * The text with each folded quote as its number of lines between FOLD_OPENING and FOLD_CLOSING.
   */
  readonly text: string
  readonly pixels: number
  readonly pictures: number
}

/**
 * Null for HTML beyond a bound of `readHtml`, ignoring the length of data: URIs. Never rejects.
 * Takes up to a second and much memory, so it must not run on the main thread.
 */
async function htmlToMarkdown(
  html: string,
  {
    links,
    tally,
    earlier,
  }: {
    readonly links: LinkShortener
    readonly tally: RemovalTally
    readonly earlier: EarlierTexts
  },
): Promise<Markdown | null> {
  const tree = readHtml(withoutData(html))
  if (tree === null) return null
  try {
    const libraries = await loadViewLibraries()
    tallyHidden(tree, tally)
    foldQuotes(tree, earlier)
    const cleaning: Cleaning = { links, tally, pixels: 0, pictures: 0, indents: 0 }
    const text = tidy(libraries.write(cleanTree(tree, cleaning)))
    return { text, pixels: cleaning.pixels, pictures: cleaning.pictures }
  } catch {
    return null
  }
}

/** Replaces the octets of data: URIs with the number of octets. */
function withoutData(html: string): string {
  if (!html.includes('base64,')) return html
  return html.replace(/(;base64,)([\w+/=%\s]{200,})/gi, (whole, head: string, data: string, at) => {
    // Style sheets are kept, because they may hide text.
    const isSheet = /data:text\/css[^,"']*$/i.test(html.slice(Math.max(0, at - 60), at))
    return isSheet ? whole : `${head}length=${data.length}`
  })
}

const load = async () => {
  const [{ toMdast }, { toMarkdown }, { gfmToMarkdown }] = await Promise.all([
    import('hast-util-to-mdast'),
    import('mdast-util-to-markdown'),
    import('mdast-util-gfm'),
  ])
  return { toMdast, toMarkdown, gfmToMarkdown }
}
type Libraries = Awaited<ReturnType<typeof load>> & { write(tree: Root): string }

let loaded: Promise<Libraries> | null = null

/** Loads the Markdown libraries once, in about 300 ms. */
export function loadViewLibraries(): Promise<Libraries> {
  loaded ??= load().then((libraries) => ({ ...libraries, write: (tree) => write(tree, libraries) }))
  return loaded
}

function write(
  tree: Root,
  { toMdast, toMarkdown, gfmToMarkdown }: Omit<Libraries, 'write'>,
): string {
  const extensions = gfmToMarkdown({ tablePipeAlign: false }).extensions ?? []
  // Only GFM tables and deletions are needed, and addresses need no escaping here.
  const used = extensions.filter((one) => {
    return one.handlers != null && ('table' in one.handlers || 'delete' in one.handlers)
  })
  return toMarkdown(toMdast(tree, { document: true }), {
    bullet: '-',
    rule: '-',
    extensions: used,
    handlers: {
      // Nothing is escaped, because a model reads the source and not its rendering.
      text: (node: { value: string }, _parent, state) =>
        state.stack.includes('tableCell') ? node.value.replaceAll('|', '\\|') : node.value,
      break: () => '\n',
      strong: (node, _parent, state, info) => marked('**', state.containerPhrasing(node, info)),
      emphasis: (node, _parent, state, info) => marked('*', state.containerPhrasing(node, info)),
      link: (node, _parent, state, info) => {
        const text = state.containerPhrasing(node, { ...info, before: '[', after: ']' })
        return `[${text.trim()}](${node.url})`
      },
    },
  })
}

/** Blanks stay outside the delimiters, and a delimiter is never nested in itself. */
function marked(mark: string, text: string): string {
  const content = text.trim()
  if (content === '' || content.includes(mark)) return text
  const start = text.indexOf(content)
  return `${text.slice(0, start)}${mark}${content}${mark}${text.slice(start + content.length)}`
}

function tidy(text: string): string {
  return text
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
