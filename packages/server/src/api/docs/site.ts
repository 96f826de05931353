// The documentation as one site: the guides of the repository and the reference of the API.

import { hash } from 'node:crypto'
import { API_VERSION } from '@mailroom/contract/openapi.ts'
import { escapeHtml } from '#http/answer.ts'
import { groupsOf, readGuides, renderGuide, type Section } from './guides.ts'
import { script, style } from './page-style.ts'
import { introductions, referenceTopics, type Topic } from './reference.ts'

/** Without one, browsers request /favicon.ico. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#4f6bed" stroke-width="1.5"><rect x="1.5" y="3" width="13" height="10" rx="1.5"/><path d="m2 4 6 5 6-5"/></svg>',
)}`

type Page = {
  /** The path, such as /docs/api/threads. */
  readonly path: string
  readonly title: string
  readonly html: () => string
  readonly sections: () => readonly Section[]
}

type Link = Pick<Page, 'path' | 'title'>
type Group = { readonly title: string; readonly links: readonly Link[] }

export type DocsSite = {
  /** The whole HTML of a page by its path; null if there is none. */
  readonly page: (path: string) => string | null
  /** The Markdown of a guide by its path below /docs/; null if there is none. */
  readonly markdown: (path: string) => string | null
  readonly search: (query: string) => string
}

export const pagePolicy = [
  "default-src 'none'",
  `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

export function openDocsSite(publicUrl: string): DocsSite {
  const guides = readGuides()
  const topics = referenceTopics(publicUrl)
  const groups: Group[] = [
    ...groupsOf(guides).map((group) => ({
      title: group.title,
      links: group.guides.map(({ path, title }) => ({ path: `/docs/${path}`, title })),
    })),
    {
      title: 'API reference',
      links: [{ path: '/docs', title: 'Introduction' }, ...topics.map(linkOf)],
    },
  ]
  const pages = new Map<string, Page>(
    [
      introductionPage(publicUrl),
      ...topics.map(
        (topic): Page => ({
          ...linkOf(topic),
          html: () => topic.html,
          sections: () => topic.sections,
        }),
      ),
      ...[...guides.values()].map((guide): Page => {
        let rendered: ReturnType<typeof renderGuide> | undefined
        const render = () => (rendered ??= renderGuide(guide, guides))
        return {
          path: `/docs/${guide.path}`,
          title: guide.title,
          html: () => render().html,
          sections: () => render().sections,
        }
      }),
    ].map((page) => [page.path, page]),
  )
  let entries: Entry[] | undefined
  return {
    page: (path) => {
      const page = pages.get(path)
      return page === undefined ? null : layout(groups, page, page.html())
    },
    markdown: (path) => guides.get(path)?.markdown ?? null,
    search: (query) => {
      entries ??= entriesOf(pages.values())
      return searchPage(groups, entries, query)
    },
  }
}

function linkOf({ slug, title }: Topic): Link {
  return { path: `/docs/api/${slug}`, title }
}

function introductionPage(publicUrl: string): Page {
  const { html, sections } = introductions(publicUrl)
  const intro = `<h1>Mailroom API <small>${API_VERSION}</small></h1>
<p>Email infrastructure for software agents. The same description for programs:
<a href="/openapi.json">openapi.json</a>; for language models: <a href="/llms.txt">llms.txt</a> and
<a href="/llms-full.txt">llms-full.txt</a>. New here? Begin with the <a href="/docs/quickstart">quickstart</a>.</p>`
  return {
    path: '/docs',
    title: 'Introduction',
    html: () => `${intro}${html}`,
    sections: () => sections,
  }
}

function layout(
  groups: readonly Group[],
  current: Pick<Page, 'path' | 'title'> & Partial<Page>,
  html: string,
  query = '',
): string {
  const contents = groups.map(({ title, links }) => {
    const items = links.map((link) => navItem(link, current))
    return `<h2>${escapeHtml(title)}</h2><ul>${items.join('')}</ul>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(current.title)} · Mailroom</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
<header><a href="/docs/readme">Mailroom</a>
<form action="/docs/search" role="search"><input type="search" name="q" value="${escapeHtml(query)}" placeholder="Search the documentation" aria-label="Search the documentation" maxlength="${QUERY_LENGTH_MAX}"></form>
<button type="button" id="theme" hidden>Change theme</button></header>
<nav aria-label="Contents"><details id="menu" open><summary>Contents</summary>${contents.join('')}</details></nav>
<main>
${html}
</main>
<script>${script}</script>
</body>
</html>
`
}

/** The current page's entry has the page's own parts below it. */
function navItem({ path, title }: Link, current: Partial<Page>): string {
  const isCurrent = path === current.path
  const link = `<a href="${path}"${isCurrent ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a>`
  const parts = isCurrent ? (current.sections?.() ?? []).filter(({ id }) => id !== '') : []
  if (parts.length === 0 || parts.length > PARTS_MAX) return `<li>${link}</li>`
  const items = parts.map((part) => `<li><a href="#${part.id}">${escapeHtml(part.title)}</a></li>`)
  return `<li>${link}<ul>${items.join('')}</ul></li>`
}

/** The page of error codes has more, and shows them in a table. */
const PARTS_MAX = 40
const QUERY_LENGTH_MAX = 200
const FOUND_MAX = 40
const EXCERPT_LENGTH = 180

type Entry = {
  readonly page: Link
  readonly section: Section
  readonly heading: string
  /** The title and the text in lower case. */
  readonly words: string
}

function entriesOf(pages: Iterable<Page>): Entry[] {
  return [...pages].flatMap((page) =>
    page.sections().map((section) => ({
      page,
      section,
      heading: section.title.toLowerCase(),
      words: `${section.title}\n${section.text}`.toLowerCase(),
    })),
  )
}

/** Sections that contain every word of the query, those with the words in their titles first. */
function searchPage(groups: readonly Group[], entries: readonly Entry[], query: string): string {
  const shown = query.slice(0, QUERY_LENGTH_MAX)
  const words = shown.toLowerCase().split(/\s+/).filter(Boolean)
  const found = entries
    .map((entry) => ({ ...entry, rank: rankOf(entry, words) }))
    .filter(({ rank }) => rank > 0)
    .sort((one, other) => other.rank - one.rank)
  const items = found.slice(0, FOUND_MAX).map(({ page, section }) => {
    const href = section.id === '' ? page.path : `${page.path}#${section.id}`
    const title = section.title === page.title ? section.title : `${page.title}: ${section.title}`
    return `<li><a href="${escapeHtml(href)}">${escapeHtml(title)}</a><p>${escapeHtml(excerptOf(section, words))}</p></li>`
  })
  const html = `<h1>Search</h1><p role="status">${countOf(words.length, found.length)}</p><ul class="found">${items.join('')}</ul>`
  return layout(groups, { path: '/docs/search', title: 'Search' }, html, shown)
}

function countOf(words: number, found: number): string {
  if (words === 0) return 'Type words to search for.'
  if (found === 0) return 'Nothing was found. Try fewer or other words.'
  const results = `${found} ${found === 1 ? 'result' : 'results'}`
  return found > FOUND_MAX ? `${results}, of which ${FOUND_MAX} are shown` : results
}

function rankOf({ heading, words: all }: Entry, words: readonly string[]): number {
  if (words.length === 0 || !words.every((word) => all.includes(word))) return 0
  const inTitle = words.filter((word) => heading.includes(word)).length
  return 1 + 10 * inTitle + (inTitle === words.length ? 10 / heading.length : 0)
}

function excerptOf({ text }: Section, words: readonly string[]): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const lower = line.toLowerCase()
  const at = words.map((word) => lower.indexOf(word)).filter((index) => index >= 0)
  const start = Math.max(0, Math.min(...at, line.length) - 60)
  const from = start === 0 || at.length === 0 ? 0 : line.indexOf(' ', start) + 1
  const piece = line.slice(from, from + EXCERPT_LENGTH)
  return `${from > 0 ? '… ' : ''}${piece}${from + EXCERPT_LENGTH < line.length ? ' …' : ''}`
}
