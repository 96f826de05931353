// The guides: the Markdown files of the repository's `docs` folder, as pages.

import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { escapeHtml } from '#http/answer.ts'

const ROOT = new URL('../../../../../', import.meta.url)

/** Pages of the repository's root, by their file name. */
const ROOT_PAGES = ['README', 'ARCHITECTURE', 'CONTRIBUTING', 'SECURITY', 'CHANGELOG'] as const

export type Section = {
  /** The anchor of the heading; empty for the beginning of the page. */
  readonly id: string
  readonly title: string
  readonly text: string
}

export type Guide = {
  /** The path below /docs/, such as `relays/amazon-ses`. */
  readonly path: string
  readonly title: string
  readonly markdown: string
  /** The file, relative to the root of the repository. */
  readonly file: string
}

export type GuideGroup = { readonly title: string; readonly guides: readonly Guide[] }

/** All guides by path. Reads the files once. */
export function readGuides(): Map<string, Guide> {
  const files = readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort()
  const all = [...ROOT_PAGES.map((name) => `${name}.md`), ...files]
  return new Map(all.map((file) => [pathOf(file), guideOf(file)]))
}

function guideOf(file: string): Guide {
  const markdown = readFileSync(new URL(file, ROOT), 'utf8')
  const [, title = file] = /^# (.*)$/m.exec(markdown) ?? []
  return { path: pathOf(file), title: title.replaceAll('`', ''), markdown, file }
}

/** `docs/relays/README.md` is `relays`; a page of the root is its name in lower case. */
function pathOf(file: string): string {
  const name = file.replace(/\.md$/, '')
  if (!name.startsWith('docs/')) return name.toLowerCase()
  const path = name.slice('docs/'.length)
  return path === 'README' ? 'contents' : path.replace(/\/README$/, '')
}

/** The groups of docs/README.md, with the guides that it links, in its order. */
export function groupsOf(guides: ReadonlyMap<string, Guide>): GuideGroup[] {
  const contents = guides.get('contents')
  if (contents === undefined) return []
  const [, ...parts] = contents.markdown.split(/^## /m)
  return parts.map((part) => {
    const [title = '', ...lines] = part.split('\n')
    const linked = [...lines.join('\n').matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, href = '']) =>
      guides.get(pathOf(posix.join('docs', href))),
    )
    return { title, guides: linked.filter((guide) => guide !== undefined) }
  })
}

export type RenderedGuide = { readonly html: string; readonly sections: readonly Section[] }

/** Markup in the file is shown as text. A link to a file that is not a page becomes plain text. */
export function renderGuide(guide: Guide, guides: ReadonlyMap<string, Guide>): RenderedGuide {
  const anchors = anchorsOf()
  const ids = new Map<Token, string>()
  const marked = new Marked({
    renderer: {
      heading(token) {
        const id = ids.get(token) ?? ''
        const text = this.parser.parseInline(token.tokens)
        const { depth } = token
        if (depth === 1) return `<h1 id="${id}">${text}</h1>\n`
        return `<h${depth} id="${id}"><a href="#${id}">${text}</a></h${depth}>\n`
      },
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`,
      html: ({ text }) => (text.startsWith('<!--') ? '' : escapeHtml(text)),
      link(token) {
        const text = this.parser.parseInline(token.tokens)
        const href = targetOf(token.href, guide, guides)
        return href === null ? text : `<a href="${escapeHtml(href)}">${text}</a>`
      },
      image({ href, text }) {
        const file = posix.join(posix.dirname(guide.file), href)
        const path = file.replace(/^docs\//, '')
        return `<img src="/docs/${escapeHtml(path)}" alt="${escapeHtml(text)}">`
      },
      table(token) {
        const cells = (row: Tokens.TableCell[], name: string) =>
          row.map((cell) => `<${name}>${this.parser.parseInline(cell.tokens)}</${name}>`).join('')
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')
        return `<div class="scroll" tabindex="0"><table><thead><tr>${cells(token.header, 'th')}</tr></thead><tbody>${rows}</tbody></table></div>\n`
      },
    },
  })
  const tokens = marked.lexer(guide.markdown)
  const sections: Section[] = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const title = plainText(token.text)
      const id = anchors(title)
      ids.set(token, id)
      sections.push({ id: token.depth === 1 ? '' : id, title, text: '' })
    } else {
      const last = sections.pop() ?? { id: '', title: guide.title, text: '' }
      sections.push({ ...last, text: `${last.text}${token.raw}\n` })
    }
  }
  return { html: marked.parser(tokens), sections }
}

function plainText(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}

/** Anchors as GitHub makes them, which the links of the files use. */
function anchorsOf(): (title: string) => string {
  const seen = new Map<string, number>()
  return (title) => {
    const id = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = seen.get(id) ?? 0
    seen.set(id, count + 1)
    return count === 0 ? id : `${id}-${count}`
  }
}

function targetOf(
  href: string,
  { file }: Guide,
  guides: ReadonlyMap<string, Guide>,
): string | null {
  const local = /^http:\/\/127\.0\.0\.1:8080(\/.*)$/.exec(href)?.[1]
  if (local !== undefined) return local
  if (/^https?:/.test(href) || href.startsWith('#')) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(file), path)
  if (!target.endsWith('.md')) return null
  const guide = guides.get(pathOf(target))
  if (guide === undefined || guide.file !== target) return null
  return `/docs/${guide.path}${anchor === undefined ? '' : `#${anchor}`}`
}

const IMAGE = /^images\/[a-z0-9-]+\.png$/

/** The picture of a guide by its path below /docs/; null if there is none. */
export function readImage(path: string): Uint8Array | null {
  if (!IMAGE.test(path)) return null
  try {
    return readFileSync(new URL(`docs/${path}`, ROOT))
  } catch {
    return null
  }
}
