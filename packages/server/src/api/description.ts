// The OpenAPI document, the texts for language models and the reference page.

import { hash } from 'node:crypto'
import { errorExample } from '@mailroom/contract/error.ts'
import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import { type Field, fieldsOf } from '@mailroom/contract/fields.ts'
import { type Guide, guidesOf } from '@mailroom/contract/guides.ts'
import { llmsFullText, llmsText } from '@mailroom/contract/llms.ts'
import {
  API_VERSION,
  idempotencyKeyParameter,
  openApiDocument,
  webSocketErrors,
  webSocketPathItem,
} from '@mailroom/contract/openapi.ts'
import { type Operation, type Tag, tags } from '@mailroom/contract/operation.ts'
import {
  type DescribedOperationId,
  describedOperationIds,
  errorsOf,
  operationOf,
} from '@mailroom/contract/operations.ts'
import { curlSample, pythonSample, typeScriptSample } from '@mailroom/contract/samples.ts'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import { escapeHtml, precompressed } from '#http/answer.ts'
import type { Context, ServerOperationId } from '#http/handler.ts'
import type { AnyHandler } from './routes.ts'

type DescriptionId = Extract<ServerOperationId, `service.${string}`>

const CACHE_CONTROL = 'public, max-age=300'

export function descriptionHandlers(publicUrl: () => string): Record<DescriptionId, AnyHandler> {
  return {
    'service.openapi': madeOnce(() => JSON.stringify(openApiDocument({ publicUrl: publicUrl() })), {
      'content-type': 'application/json; charset=utf-8',
      ...FOR_ALL_ORIGINS,
    }),
    'service.docs': madeOnce(() => docsPage(publicUrl()), {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': docsPolicy,
      'referrer-policy': 'no-referrer',
    }),
    'service.llms': madeOnce(() => llmsText({ publicUrl: publicUrl() }), PLAIN_TEXT),
    'service.llmsFull': madeOnce(() => llmsFullText({ publicUrl: publicUrl() }), PLAIN_TEXT),
  }
}

/** Generators and editors load the descriptions from pages of other origins. */
const FOR_ALL_ORIGINS = { 'access-control-allow-origin': '*' }
const PLAIN_TEXT = { 'content-type': 'text/plain; charset=utf-8', ...FOR_ALL_ORIGINS }

function madeOnce(make: () => string, headers: Readonly<Record<string, string>>): AnyHandler {
  let respond: ReturnType<typeof precompressed> | undefined
  return (_input, context) => {
    respond ??= precompressed(make(), { ...headers, 'cache-control': CACHE_CONTROL })
    return respond(context as Context)
  }
}

type Entry = { readonly id: DescribedOperationId; readonly operation: Operation }

function docsPage(publicUrl: string): string {
  const entries = describedOperationIds.map((id): Entry => ({ id, operation: operationOf(id) }))
  const byTag = Map.groupBy(entries, ({ operation }) => operation.tag)
  const names = Object.keys(tags) as Tag[]
  const guides = guidesOf(publicUrl)
  const contents = names.map((tag) => contentsOf(tag, byTag.get(tag) ?? [])).join('')
  const sections = names.map((tag) => sectionOf(tag, byTag.get(tag) ?? [], publicUrl)).join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mailroom API ${API_VERSION}</title>
<style>${style}</style>
</head>
<body>
<nav aria-label="Contents"><details id="menu" open><summary>Contents</summary>
<input id="search" type="search" hidden placeholder="Search operations and fields" aria-label="Search operations and fields">
<p id="found" role="status"></p>
<h2><a href="#top">Introduction</a></h2><ul id="guides">${guides.map(({ id, title }) => `<li><a href="#${id}">${title}</a></li>`).join('')}</ul>
${contents}<h2><a href="#errors">Error codes</a></h2></details></nav>
<main id="top">
<h1>Mailroom API <small>${API_VERSION}</small></h1>
<p>Email infrastructure for software agents. The same description for programs:
<a href="/openapi.json">openapi.json</a>; for language models: <a href="/llms.txt">llms.txt</a> and
<a href="/llms-full.txt">llms-full.txt</a>.</p>
${guides.map(guideSection).join('')}
${sections}
${errorSection()}
</main>
<script>${script}</script>
</body>
</html>
`
}

function guideSection({ id, title, paragraphs, sample }: Guide): string {
  return `<section id="${id}"><h2>${title}</h2>${paragraphsOf(paragraphs.join('\n\n'))}${sample === undefined ? '' : code(sample)}</section>`
}

function paragraphsOf(text: string): string {
  const paragraphs = text.split('\n\n').filter((paragraph) => paragraph !== '')
  return paragraphs.map((paragraph) => `<p>${withCode(paragraph)}</p>`).join('')
}

function withCode(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

function code(text: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`
}

function titleOf({ summary }: { summary: string }): string {
  return escapeHtml(summary.replace(/\.$/, ''))
}

function contentsOf(tag: Tag, entries: readonly Entry[]): string {
  const items = entries.map(({ id, operation }) => contentsLine(id, operation))
  if (tag === webSocketTag) items.push(contentsLine(webSocket.operationId, webSocket))
  return `<h2>${escapeHtml(tag)}</h2><ul>${items.join('')}</ul>`
}

function contentsLine(id: string, operation: { summary: string }): string {
  return `<li><a href="#${id}">${titleOf(operation)}</a></li>`
}

function sectionOf(tag: Tag, entries: readonly Entry[], publicUrl: string): string {
  const operations = entries.map((entry) => operationSection(entry, publicUrl)).join('')
  const further = tag === webSocketTag ? webSocketSection(publicUrl) : ''
  return `<section><h2>${escapeHtml(tag)}</h2><p>${withCode(tags[tag])}</p>${operations}${further}</section>`
}

function heading(id: string, operation: { summary: string; method: string; path: string }): string {
  const { method, path } = operation
  return `<h3><a href="#${id}">${titleOf(operation)}</a></h3>
<p class="path"><b>${method}</b> <code>${escapeHtml(path)}</code></p>`
}

const webSocket = webSocketPathItem.get
const [webSocketTag] = webSocket.tags

function webSocketSection(publicUrl: string): string {
  const { operationId: id, summary, description } = webSocket
  const url = `${publicUrl.replace(/^http/, 'ws')}${WEB_SOCKET_PATH}`
  return `<article id="${id}">
${heading(id, { summary, method: 'GET', path: WEB_SOCKET_PATH })}
${paragraphsOf(description)}
${code(`const socket = new WebSocket(\`${url}?token=\${MAILROOM_API_KEY}\`)
socket.onopen = () => socket.send('{"type":"subscribe"}')
socket.onmessage = ({ data }) => console.log(data)`)}
<p><b>101</b> ${escapeHtml(webSocket.responses[101].description)}</p>
<p>Errors: ${errorLinks(webSocketErrors)}</p>
</article>
`
}

function operationSection({ id, operation }: Entry, publicUrl: string): string {
  const { notes, parameters, query, body, success, otherSuccess } = operation
  const headers = operation.needsIdempotencyKey ? [idempotencyKeyField] : []
  return `<article id="${id}">
${heading(id, operation)}
${paragraphsOf(notes ?? '')}
${table('Path parameters', Object.entries(parameters ?? {}).map(pathField))}
${table('Query parameters', allFieldsOf(query))}
${table('Headers', headers)}
${table('Body', allFieldsOf(body))}
<h4>curl</h4>${code(curlSample(id, publicUrl))}
${operation.isForOtherClients ? '' : clientSamples(id, publicUrl)}
${[success, ...(otherSuccess === undefined ? [] : [otherSuccess])].map(responseOf).join('')}
<p>Errors: ${errorLinks(errorsOf(operation))}</p>
</article>
`
}

function clientSamples(id: DescribedOperationId, publicUrl: string): string {
  const typeScript = code(typeScriptSample(id, publicUrl))
  return `<h4>TypeScript</h4>${typeScript}<h4>Python</h4>${code(pythonSample(id, publicUrl))}`
}

function responseOf(success: Operation['success']): string {
  const type = 'mediaType' in success ? ` <code>${escapeHtml(success.mediaType)}</code>` : ''
  const fields = 'schema' in success ? allFieldsOf(success.schema) : []
  return `<p><b>${success.status}</b>${type} ${escapeHtml(success.description)}</p>${table('Response', fields)}`
}

function errorLinks(codes: readonly ErrorCode[]): string {
  return codes.map((name) => `<a href="#error-${name}"><code>${name}</code></a>`).join(', ')
}

function allFieldsOf(schema: unknown): Field[] {
  return schema === undefined ? [] : fieldsOf(schema, { stopsAtNames: false })
}

function pathField([path, description]: [string, string]): Field {
  return { path, type: 'string', isRequired: true, description }
}

const idempotencyKeyField: Field = {
  path: idempotencyKeyParameter.name,
  type: 'string',
  isRequired: true,
  description: idempotencyKeyParameter.description,
}

function table(caption: string, fields: readonly Field[]): string {
  if (fields.length === 0) return ''
  const rows = fields.map(({ path, type, isRequired, description }) => {
    const depth = path.split('.').length - 1
    const mark = isRequired ? '' : ' <i>optional</i>'
    return `<tr><td class="d${Math.min(depth, 4)}"><code>${escapeHtml(path)}</code>${mark}</td><td>${escapeHtml(type)}</td><td>${withCode(description)}</td></tr>`
  })
  return `<table><caption>${caption}</caption><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function errorSection(): string {
  const codes = Object.keys(errorCodes) as ErrorCode[]
  const rows = codes.map((name) => {
    const { status, sentence, fix }: { status: number; sentence: string; fix?: string } =
      errorCodes[name]
    return `<tr id="error-${name}"><td><code>${name}</code></td><td>${status}</td><td>${withCode(sentence)}${fix ? ` ${withCode(fix)}` : ''}</td></tr>`
  })
  return `<section id="errors"><h2>Error codes</h2>
${code(JSON.stringify(errorExample('bad_request'), null, 2))}
<table><caption>Codes</caption><thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

/** Shows the operations that contain every word, and closes the contents on a small screen. */
const script = `
const search = document.getElementById('search'), found = document.getElementById('found'), menu = document.getElementById('menu')
const entries = [...document.querySelectorAll('article')].map((article) => ({
  article, text: article.textContent.toLowerCase(), line: document.querySelector("nav a[href='#" + article.id + "']").parentElement,
}))
search.hidden = false
const isSmall = matchMedia('(max-width: 50rem)').matches
if (isSmall) menu.open = false
menu.addEventListener('click', ({ target }) => { if (isSmall && target.closest('a')) menu.open = false })
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean)
  let count = 0
  for (const { article, text, line } of entries) {
    const isFound = words.every((word) => text.includes(word))
    article.hidden = line.hidden = !isFound
    if (isFound) count += 1
  }
  document.body.classList.toggle('searching', words.length > 0)
  found.textContent = words.length === 0 ? '' : count === 1 ? '1 operation' : count + ' operations'
})
`

const docsPolicy = [
  "default-src 'none'",
  `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent) }
* { box-sizing: border-box }
[hidden] { display: none !important }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 19rem minmax(0, 1fr) }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); font-size: .85rem }
nav h2 { margin: 1rem 0 .3rem; font-size: .85rem } nav ul { list-style: none; margin: 0; padding: 0 } nav li a { display: block; padding: .15rem 0; text-decoration: none }
nav a:hover { text-decoration: underline } summary { display: none; font-weight: 600; cursor: pointer }
#search { width: 100%; font: inherit; padding: .45rem .6rem; border: 1px solid var(--line); border-radius: 6px } #found { margin: .3rem 0 }
main { padding: 1rem 2rem 4rem; max-width: 64rem } section { margin-top: 2.5rem } article { border-top: 1px solid var(--line); margin-top: 2rem }
.searching main > section:not(:has(article:not([hidden]))), .searching main > section > :not(article) { display: none }
.searching nav h2, .searching #guides { display: none }
a { color: inherit; text-decoration-color: var(--line) } h3 { margin-bottom: .2rem } h3 a { text-decoration: none } h4 { margin: 1rem 0 .3rem; font-size: .85rem }
.path { margin-top: 0; overflow-wrap: anywhere }
pre { overflow: auto; margin: .3rem 0; padding: .8rem; border: 1px solid var(--line); border-radius: 6px; background: var(--soft) } code { font: .85em ui-monospace, monospace }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .9rem } caption { text-align: left; font-weight: 600 }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
td:first-child { width: 32% } td:nth-child(2) { width: 18% }
.d1 { padding-left: 1rem } .d2 { padding-left: 2rem } .d3 { padding-left: 3rem } .d4 { padding-left: 4rem } i { opacity: .7; font-size: .85em }
:target { scroll-margin-top: 1rem } article:target, section:target { outline: 2px solid Highlight; outline-offset: 6px }
@media (max-width: 50rem) {
  body { display: block } nav { position: sticky; z-index: 1; height: auto; max-height: 80vh; border: 0; border-bottom: 1px solid var(--line); background: Canvas; padding: .7rem 1rem } summary { display: block }
  main { padding: 1rem } thead { display: none } tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line) } td { display: block; width: auto !important; border: 0; padding-top: 0; padding-bottom: 0 }
  :target { scroll-margin-top: 4rem }
}
`
