// The reference page: the table of operations as one static page of HTML, without a script.

import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import { errorExample } from '@mailroom/contract/error-example.ts'
import { API_VERSION } from '@mailroom/contract/openapi.ts'
import { idempotencyKeyParameter } from '@mailroom/contract/openapi-parts.ts'
import { webSocketErrors, webSocketPathItem } from '@mailroom/contract/openapi-web-socket.ts'
import { type Operation, type Tag, tags } from '@mailroom/contract/operations/operation.ts'
import { errorsOf, operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import { escapeHtml } from './escape-html.ts'

type Entry = { readonly id: string; readonly operation: Operation }

/** `publicUrl` is the base of the addresses in the examples. */
export function docsPage(publicUrl: string): string {
  const entries = operationIds.map((id): Entry => ({ id, operation: operationOf(id) }))
  const byTag = Map.groupBy(entries, ({ operation }) => operation.tag)
  const names = Object.keys(tags) as Tag[]
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
<nav aria-label="Operations"><p><a href="#top">Mailroom API</a></p>${contents}<p><a href="#errors">Errors</a></p></nav>
<main id="top">
<h1>Mailroom API <small>${API_VERSION}</small></h1>
<p>Requests and answers are JSON. Every request carries <code>Authorization: Bearer &lt;key&gt;</code>.
The same description for programs: <a href="/openapi.json">openapi.json</a>.</p>
${sections}
${errorSection()}
</main>
</body>
</html>
`
}

function contentsOf(tag: Tag, entries: readonly Entry[]): string {
  const items = entries.map(({ id, operation }) => contentsLine(id, operation))
  if (tag === webSocketTag) {
    items.push(contentsLine(webSocket.operationId, { method: 'GET', path: WEB_SOCKET_PATH }))
  }
  return `<p>${escapeHtml(tag)}</p><ul>${items.join('')}</ul>`
}

function contentsLine(id: string, { method, path }: { method: string; path: string }): string {
  return `<li><a href="#${id}"><b>${method}</b> ${escapeHtml(path)}</a></li>`
}

function sectionOf(tag: Tag, entries: readonly Entry[], publicUrl: string): string {
  const operations = entries.map((entry) => operationSection(entry, publicUrl)).join('')
  const further = tag === webSocketTag ? webSocketSection(publicUrl) : ''
  return `<section><h2>${escapeHtml(tag)}</h2><p>${escapeHtml(tags[tag])}</p>${operations}${further}</section>`
}

const webSocket = webSocketPathItem.get
const [webSocketTag] = webSocket.tags

function webSocketSection(publicUrl: string): string {
  const { operationId: id, summary, description } = webSocket
  const url = `${publicUrl.replace(/^http/, 'ws')}${WEB_SOCKET_PATH}`
  const example = `const socket = new WebSocket(\`${url}?token=\${MAILROOM_API_KEY}\`)
socket.onopen = () => socket.send('{"type":"subscribe"}')
socket.onmessage = ({ data }) => console.log(data)`
  return `<article id="${id}">
<h3><a href="#${id}"><b>GET</b> ${WEB_SOCKET_PATH}</a></h3>
<p>${escapeHtml(summary)} ${escapeHtml(description)}</p>
<pre><code>${escapeHtml(example)}</code></pre>
<p><b>101</b> ${escapeHtml(webSocket.responses[101].description)}</p>
<p>Errors: ${errorLinks(webSocketErrors)}</p>
</article>
`
}

function operationSection({ id, operation }: Entry, publicUrl: string): string {
  const { method, path, summary, notes, success } = operation
  return `<article id="${id}">
<h3><a href="#${id}"><b>${method}</b> ${escapeHtml(path)}</a></h3>
<p>${escapeHtml(summary)}${notes ? ` ${escapeHtml(notes)}` : ''}</p>
${table('Path', Object.entries(operation.parameters ?? {}).map(pathRow))}
${table('Query', fieldRows(operation.query))}
${table('Header', operation.needsIdempotencyKey ? [idempotencyKeyRow] : [])}
${table('Body', fieldRows(operation.body))}
<pre><code>${escapeHtml(curlExample(operation, publicUrl))}</code></pre>
<p><b>${success.status}</b> ${escapeHtml(success.description)}</p>
${'schema' in success ? table('Answer', fieldRows(success.schema)) : ''}
<p>Errors: ${errorLinks(errorsOf(operation))}</p>
</article>
`
}

function errorLinks(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `<a href="#error-${code}"><code>${code}</code></a>`).join(', ')
}

type Row = { name: string; type: string; isRequired: boolean; description: string }

function pathRow([name, description]: [string, string]): Row {
  return { name, type: 'string', isRequired: true, description }
}

const idempotencyKeyRow: Row = {
  name: idempotencyKeyParameter.name,
  type: 'string',
  isRequired: true,
  description: idempotencyKeyParameter.description,
}

type ObjectSchema = {
  properties?: Record<string, unknown>
  required?: readonly string[]
}

function fieldRows(schema: ObjectSchema | undefined): Row[] {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const field = property as FieldSchema
    const isDefaulted = field.default !== undefined
    return {
      name,
      type: typeOf(field),
      isRequired: (schema?.required ?? []).includes(name) && !isDefaulted,
      description: [field.description ?? '', ...boundsOf(field)].filter(Boolean).join(' '),
    }
  })
}

type FieldSchema = {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  anyOf?: readonly FieldSchema[]
  items?: FieldSchema
  default?: unknown
  description?: string
  minLength?: number
  maxLength?: number
}

function typeOf(field: FieldSchema): string {
  if (field.anyOf) return field.anyOf.map(typeOf).join(' or ')
  if (field.enum) return field.enum.map((word) => JSON.stringify(word)).join(', ')
  if (field.type === 'array') return `array of ${field.items ? typeOf(field.items) : 'values'}`
  return [field.type ?? 'value'].flat().join(' or ')
}

function boundsOf(field: FieldSchema): string[] {
  const bounds: string[] = []
  if (field.maxLength !== undefined) {
    bounds.push(`${field.minLength ?? 0} to ${field.maxLength} characters.`)
  }
  if (field.default !== undefined) bounds.push(`Default ${JSON.stringify(field.default)}.`)
  return bounds
}

function table(caption: string, rows: readonly Row[]): string {
  if (rows.length === 0) return ''
  const lines = rows.map(
    ({ name, type, isRequired, description }) =>
      `<tr><td><code>${escapeHtml(name)}</code>${isRequired ? '' : ' <i>optional</i>'}</td><td>${escapeHtml(type)}</td><td>${escapeHtml(description)}</td></tr>`,
  )
  return `<table><caption>${caption}</caption><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${lines.join('')}</tbody></table>`
}

function curlExample(operation: Operation, publicUrl: string): string {
  const { method, path, auth, body } = operation
  const words = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${publicUrl}${path}'`]
  if (auth === 'operator') words.push(`-H "Authorization: Bearer $MAILROOM_ADMIN_TOKEN"`)
  else if (auth !== 'none') words.push(`-H "Authorization: Bearer $MAILROOM_API_KEY"`)
  if (operation.needsIdempotencyKey) words.push(`-H "Idempotency-Key: $(uuidgen)"`)
  if (body) {
    words.push(`-H 'Content-Type: application/json'`)
    words.push(`-d '${JSON.stringify(bodyExample(body))}'`)
  }
  return words.join(' \\\n  ')
}

const textExamples: Readonly<Record<string, string>> = {
  name: 'Support',
  clientId: 'tenant-1',
  mailboxName: 'support',
  displayName: 'Support',
  from: 'ann@example.com',
  to: 'bob@example.com',
  address: 'bob@example.com',
  url: 'https://agent.example.com/mail',
  subject: 'Hello',
  body: 'How are you?',
  text: 'How are you?',
  value: 'friend.example',
  apiKey: '$MAILROOM_API_KEY',
  clientName: 'mailroom on laptop',
}

/** Of fields that are left out where they may be. */
const requiredExamples: Readonly<Record<string, string | null>> = {
  domain: 'example.com',
  podId: null,
  requestId: '$REQUEST_ID',
}

/** Every field that is required, and those others that an example can be given of. */
function bodyExample({ properties = {}, required = [] }: ObjectSchema): Record<string, unknown> {
  const example: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const field = property as FieldSchema
    if (field.default !== undefined) continue
    if (field.type === 'boolean') example[name] = true
    else if (field.enum) example[name] = field.enum[0]
    else if (textExamples[name] !== undefined) example[name] = textExamples[name]
    else if (required.includes(name)) example[name] = requiredExampleOf(name)
  }
  return example
}

function requiredExampleOf(name: string): string | null {
  const example = requiredExamples[name]
  if (example === undefined) throw new Error(`There is no example of the field ${name}.`)
  return example
}

function errorSection(): string {
  const codes = Object.keys(errorCodes) as (keyof typeof errorCodes)[]
  const rows = codes.map((code) => {
    const { status, sentence, fix }: { status: number; sentence: string; fix?: string } =
      errorCodes[code]
    return `<tr id="error-${code}"><td><code>${code}</code></td><td>${status}</td><td>${escapeHtml(sentence)}${fix ? ` ${escapeHtml(fix)}` : ''}</td></tr>`
  })
  return `<section id="errors"><h2>Errors</h2>
<pre><code>${escapeHtml(JSON.stringify(errorExample('bad_request'), null, 2))}</code></pre>
<table><caption>Codes</caption><thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent) }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 18rem minmax(0, 1fr) }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); font-size: .8rem }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0 } nav p { margin: .5rem 0; font-weight: 600 } nav li b { font-size: .7rem }
main { padding: 1rem 2rem 4rem; max-width: 60rem } article { border-top: 1px solid var(--line); margin-top: 2rem }
a { color: inherit; text-decoration-color: var(--line) } h3 { overflow-wrap: anywhere }
pre { overflow: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 6px } code { font-size: .9em }
table { border-collapse: collapse; width: 100%; margin: .8rem 0; font-size: .9rem } caption { text-align: left; font-weight: 600 }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line) }
:target { outline: 2px solid Highlight; outline-offset: 6px }
@media (max-width: 50rem) { body { display: block } nav { position: static; height: auto; border: 0 } main { padding: 1rem } }
`
