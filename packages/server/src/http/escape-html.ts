// Text into HTML, between tags and within quoted attributes.

/** Also safe where the text is cut elsewhere or holds entities already: they show as they are. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
