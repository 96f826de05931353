// The pages of the API reference, one for each tag of the contract.

import { errorExample } from '@mailroom/contract/error.ts'
import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import { exampleOf } from '@mailroom/contract/examples/examples.ts'
import { type Field, fieldsOf } from '@mailroom/contract/fields.ts'
import { guidesOf, type Guide as Introduction } from '@mailroom/contract/guides.ts'
import {
  idempotencyKeyParameter,
  webSocketErrors,
  webSocketPathItem,
} from '@mailroom/contract/openapi.ts'
import { componentName, components, objectNamesOf } from '@mailroom/contract/openapi-components.ts'
import { type Operation, slugOf, type Tag, tags } from '@mailroom/contract/operation.ts'
import {
  type DescribedOperationId,
  describedOperationIds,
  errorsOf,
  operationOf,
} from '@mailroom/contract/operations.ts'
import { curlSample, pythonSample, typeScriptSample } from '@mailroom/contract/samples.ts'
import { baseOf } from '@mailroom/contract/schema.ts'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import { escapeHtml } from '#http/answer.ts'
import type { Section } from './guides.ts'

export type Topic = {
  readonly slug: string
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
}

const webSocket = webSocketPathItem.get
const [webSocketTag] = webSocket.tags

/** The pages in the order of the contract; the last one has the error codes. */
export function referenceTopics(publicUrl: string): Topic[] {
  const byTag = Map.groupBy(describedOperationIds, (id) => operationOf(id).tag)
  const ofTags = (Object.keys(tags) as Tag[]).map((tag) =>
    topicOf(tag, byTag.get(tag) ?? [], publicUrl),
  )
  return [...ofTags, errorTopic()]
}

/** How requests, errors, paging and keys work, for the first page. */
export function introductions(publicUrl: string): { html: string; sections: Section[] } {
  const all = guidesOf(publicUrl)
  return {
    html: all.map(introductionOf).join(''),
    sections: all.map(({ id, title, paragraphs }) => ({ id, title, text: paragraphs.join('\n') })),
  }
}

function introductionOf({ id, title, paragraphs, sample }: Introduction): string {
  return `<section><h2 id="${id}"><a href="#${id}">${title}</a></h2>${paragraphsOf(paragraphs.join('\n\n'))}${sample === undefined ? '' : code(sample)}</section>`
}

function topicOf(tag: Tag, ids: readonly DescribedOperationId[], publicUrl: string): Topic {
  const objects = objectNamesOf(ids.map(operationOf))
  const articles = ids.map((id) => articleOf(id, publicUrl))
  const further = tag === webSocketTag ? [webSocketArticle(publicUrl)] : []
  const sections = [
    ...ids.map((id) => sectionOf(id, operationOf(id))),
    ...(tag === webSocketTag
      ? [{ id: webSocket.operationId, title: webSocket.summary, text: webSocket.description }]
      : []),
  ]
  return {
    slug: slugOf(tag),
    title: tag,
    html: `<h1>${escapeHtml(tag)}</h1><p>${withCode(tags[tag])}</p>${[...articles, ...further].join('')}${objectSection(objects)}`,
    sections,
  }
}

function sectionOf(id: DescribedOperationId, operation: Operation): Section {
  const { method, path, summary, notes = '', query, body, success } = operation
  const schemas = [query, body, 'schema' in success ? success.schema : undefined]
  const fields = schemas.flatMap((schema) => fieldsIn(schema))
  const words = fields.map((field) => `${field.path}: ${field.description}`)
  return { id, title: titleOf(summary), text: [`${method} ${path}`, notes, ...words].join('\n') }
}

const titleOf = (summary: string) => summary.replace(/\.$/, '')

function fieldsIn(schema: unknown): Field[] {
  return schema === undefined ? [] : fieldsOf(schema, { stopsAtNames: true })
}

function articleOf(id: DescribedOperationId, publicUrl: string): string {
  const operation = operationOf(id)
  const { summary, method, path, notes, parameters, query, body, success, otherSuccess } = operation
  const headers = operation.needsIdempotencyKey ? [idempotencyKeyField] : []
  return `<article id="${id}">
${heading({ id, summary, method, path })}
${paragraphsOf(notes ?? '')}
${table('Path parameters', Object.entries(parameters ?? {}).map(pathField))}
${table('Query parameters', fieldsIn(query))}
${table('Headers', headers)}
${schemaTable('Body', body)}
${samples(id, publicUrl)}
${[success, ...(otherSuccess === undefined ? [] : [otherSuccess])].map(responseOf).join('')}
${exampleResponse(id)}
<p>Errors: ${errorLinks(errorsOf(operation))}</p>
</article>
`
}

function heading(one: { id: string; summary: string; method: string; path: string }): string {
  const title = escapeHtml(titleOf(one.summary))
  return `<h3><a href="#${one.id}">${title}</a></h3>
<p class="path"><b>${one.method}</b> <code>${escapeHtml(one.path)}</code></p>`
}

function samples(id: DescribedOperationId, publicUrl: string): string {
  const all = [
    ['curl', curlSample(id, publicUrl)],
    ...(operationOf(id).isForOtherClients
      ? []
      : [
          ['TypeScript', typeScriptSample(id, publicUrl)],
          ['Python', pythonSample(id, publicUrl)],
        ]),
  ]
  const shown = all.map(
    ([language, text = '']) =>
      `<div data-language="${language}"><h4>${language}</h4>${code(text)}</div>`,
  )
  return `<div class="samples">${shown.join('')}</div>`
}

/** The answer to the samples. */
function exampleResponse(id: DescribedOperationId): string {
  const { response } = exampleOf(id)
  if (response === undefined) return ''
  const text = typeof response === 'string' ? response : JSON.stringify(response, null, 2)
  return `<h4>Response example</h4>${code(text)}`
}

function responseOf(success: Operation['success']): string {
  const type = 'mediaType' in success ? ` <code>${escapeHtml(success.mediaType)}</code>` : ''
  const fields = 'schema' in success ? schemaTable('Response', success.schema) : ''
  return `<p><b>${success.status}</b>${type} ${escapeHtml(success.description)}</p>${fields}`
}

/** A named object is one line, since the page describes it once at its end. */
function schemaTable(caption: string, schema: unknown): string {
  const name = componentName(schema)
  if (name === undefined) return table(caption, fieldsIn(schema))
  return `<p>${caption}: <a href="#object-${name}">${name}</a></p>`
}

function errorLinks(codes: readonly ErrorCode[]): string {
  return codes
    .map((name) => `<a href="/docs/api/errors#error-${name}"><code>${name}</code></a>`)
    .join(', ')
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
    const optional = isRequired ? '' : ' <i>optional</i>'
    return `<tr><td class="d${Math.min(depth, 4)}"><code>${escapeHtml(path)}</code>${optional}</td><td>${typeText(type)}</td><td>${withCode(description)}</td></tr>`
  })
  return `<table class="fields"><caption>${caption}</caption><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** Names of objects lead to their descriptions. */
function typeText(type: string): string {
  return escapeHtml(type).replaceAll(/\b[A-Z]\w+\b/g, (name) =>
    name in components ? `<a href="#object-${name}">${name}</a>` : name,
  )
}

function objectSection(names: readonly string[]): string {
  if (names.length === 0) return ''
  const objects = names.map((name) => {
    const schema = components[name] as { description?: string }
    const base = componentName(baseOf(schema))
    const inherited = base === undefined ? '' : `<p>All fields of ${typeText(base)}, and:</p>`
    return `<article id="object-${name}"><h3><a href="#object-${name}">${name}</a></h3>${paragraphsOf(schema.description ?? '')}${inherited}${table('Fields', fieldsIn(schema))}</article>`
  })
  return `<h2 id="objects"><a href="#objects">Objects</a></h2>${objects.join('')}`
}

function webSocketArticle(publicUrl: string): string {
  const { operationId: id, summary, description } = webSocket
  const url = `${publicUrl.replace(/^http/, 'ws')}${WEB_SOCKET_PATH}`
  return `<article id="${id}">
${heading({ id, summary, method: 'GET', path: WEB_SOCKET_PATH })}
${paragraphsOf(description)}
${code(`const socket = new WebSocket(\`${url}?token=\${MAILROOM_API_KEY}\`)
socket.onopen = () => socket.send('{"type":"subscribe"}')
socket.onmessage = ({ data }) => console.log(data)`)}
<p><b>101</b> ${escapeHtml(webSocket.responses[101].description)}</p>
<p>Errors: ${errorLinks(webSocketErrors)}</p>
</article>
`
}

function errorTopic(): Topic {
  const codes = Object.keys(errorCodes) as ErrorCode[]
  const described = codes.map((name) => {
    const { status, sentence, fix }: { status: number; sentence: string; fix?: string } =
      errorCodes[name]
    return { name, status, text: [sentence, fix].filter(Boolean).join(' ') }
  })
  const rows = described.map(
    ({ name, status, text }) =>
      `<tr id="error-${name}"><td><code>${name}</code></td><td>${status}</td><td>${withCode(text)}</td></tr>`,
  )
  return {
    slug: 'errors',
    title: 'Error codes',
    html: `<h1>Error codes</h1>${code(JSON.stringify(errorExample('bad_request'), null, 2))}
<table class="fields"><thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`,
    sections: described.map(({ name, text }) => ({ id: `error-${name}`, title: name, text })),
  }
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
