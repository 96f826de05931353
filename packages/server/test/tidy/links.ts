// Relative links of the documentation, and whether their targets exist.

/** The anchor of a heading on GitHub. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

/** The text of a page outside fenced code. */
function proseOf(text: string): string {
  return text.replaceAll(/^(```+|~~~+)[\s\S]*?^\1\s*$/gm, '')
}

export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of proseOf(text).matchAll(/^#{1,6} +(.*?)(?: +#+)? *$/gm)) {
    const anchor = anchorOf(heading)
    let unique = anchor
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`
    anchors.add(unique)
  }
  for (const [, id = ''] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

/** Paths and anchors as written, except links to other hosts. */
export function linksOf(text: string): string[] {
  const prose = proseOf(text).replaceAll(/`[^`\n]*`/g, '')
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(
    ([, link = '']) => link,
  )
  const defined = [...prose.matchAll(/^\[[^\]]+\]: +(\S+)/gm)].map(([, link = '']) => link)
  const ofTags = [...prose.matchAll(/<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"/g)].map(
    ([, link = '']) => link,
  )
  return [...inline, ...defined, ...ofTags].filter((link) => !/^[a-z][a-z+.-]*:|^\/\//i.test(link))
}

/** A sentence for each broken link of `pages`; `read` returns null for missing files. */
export function findDeadLinks(
  pages: readonly string[],
  read: (path: string) => string | null,
): string[] {
  return pages.flatMap((page) =>
    linksOf(read(page) ?? '').flatMap((link) => {
      const [file = '', anchor] = link.split('#')
      const target =
        file === '' ? page : decodeURI(new URL(file, `file:///${page}`).pathname.slice(1))
      const text = read(target)
      if (text === null) return [`${page}: ${link} leads to no file`]
      if (anchor === undefined || !target.endsWith('.md') || anchorsOf(text).has(anchor)) return []
      return [`${page}: ${link} leads to no heading`]
    }),
  )
}
