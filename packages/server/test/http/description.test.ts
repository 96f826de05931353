import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { errorCodes } from '@mailroom/contract/error-codes.ts'
import { slugOf } from '@mailroom/contract/operation.ts'
import {
  clientOperationIds,
  type DescribedOperationId,
  describedOperationIds,
  operationOf,
} from '@mailroom/contract/operations.ts'
import { curlSample } from '@mailroom/contract/samples.ts'
import { escapeHtml } from '#http/answer.ts'
import { openTestServer } from '#test/http/test-server.ts'

test('the OpenAPI document is served without a key', async () => {
  const server = await openTestServer()
  const response = await server.request('/openapi.json', { token: null })
  const document = (await response.json()) as { openapi: string; servers: unknown }
  await server.close(0)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(document.openapi, '3.1.0')
  assert.deepEqual(document.servers, [{ url: 'http://mailroom.example' }])
})

async function pageOf(path: string) {
  const server = await openTestServer()
  const response = await server.request(path, { token: null })
  const text = await response.text()
  await server.close(0)
  return { response, text }
}

const topicOf = (id: DescribedOperationId) => `/docs/api/${slugOf(operationOf(id).tag)}`

test('the reference shows every operation on the page of its topic, with its samples', async () => {
  await using server = await openTestServer()
  for (const [path, ids] of Map.groupBy(describedOperationIds, topicOf)) {
    const page = await (await server.request(path, { token: null })).text()
    for (const id of ids) {
      assert.ok(page.includes(`<article id="${id}">`), id)
      assert.ok(page.includes(escapeHtml(curlSample(id, 'http://mailroom.example'))), id)
      const title = operationOf(id).summary.replace(/\.$/, '')
      assert.ok(page.includes(`<li><a href="#${id}">${title}</a></li>`), title)
    }
  }
  const events = await (await server.request('/docs/api/events', { token: null })).text()
  assert.ok(events.includes('<article id="events.webSocket">'))
  const errors = await (await server.request('/docs/api/errors', { token: null })).text()
  for (const code of Object.keys(errorCodes)) assert.ok(errors.includes(`id="error-${code}"`), code)
})

test('every page of the documentation is at most 150 kB, links to what exists and runs only its own script', async () => {
  await using server = await openTestServer()
  const pages = new Map<string, string>()
  const wanted = ['/docs']
  for (let path = wanted.pop(); path !== undefined; path = wanted.pop()) {
    if (pages.has(path)) continue
    const response = await server.request(path, { token: null })
    assert.equal(response.status, 200, path)
    const page = await response.text()
    pages.set(path, page)
    assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
    assert.ok(page.length <= 150_000, `${path} has ${page.length} characters`)
    const policy = response.headers.get('content-security-policy') ?? ''
    const scripts = [...page.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = '']) => script)
    assert.equal(page.split('<script').length, 2)
    const admitted = `script-src 'sha256-${hash('sha256', scripts.join(''), 'base64')}'`
    assert.ok(policy.includes(admitted) && policy.includes("default-src 'none'"), policy)
    assert.doesNotMatch(
      page,
      /<[^>]*\son\w+=|<link(?! rel="icon" href="data:)|href="javascript|src="(?!\/docs\/images\/)/i,
    )
    const [style = ''] = /<style>.*?<\/style>/s.exec(page) ?? []
    assert.doesNotMatch(style, /@import|url\(/)
    for (const [, href = ''] of page.matchAll(/href="(\/docs[^"#?]*)/g)) wanted.push(href)
  }
  assert.ok(pages.size > 60, `${pages.size} pages`)
  for (const [path, page] of pages) {
    for (const [, target = '', anchor = ''] of page.matchAll(/href="(\/docs[^"#?]*)?#([^"]+)"/g)) {
      const other = pages.get(target === '' ? path : target) ?? ''
      assert.ok(other.includes(`id="${anchor}"`), `${path}: ${target}#${anchor} leads nowhere`)
    }
    for (const [, image = ''] of page.matchAll(/<img src="([^"]+)"/g)) {
      const response = await server.request(image, { token: null })
      assert.equal(response.headers.get('content-type'), 'image/png', image)
      await response.arrayBuffer()
    }
  }
})

test('a search finds operations, guides and fields, and never runs what was typed', async () => {
  await using server = await openTestServer()
  const search = async (query: string) => {
    const path = `/docs/search?q=${encodeURIComponent(query)}`
    return (await server.request(path, { token: null })).text()
  }
  const first = async (query: string) =>
    /<li><a href="([^"]+)"/.exec((await search(query)).split('class="found"')[1] ?? '')?.[1]
  assert.equal(await first('wait for a message'), '/docs/api/events#inboxes.wait')
  assert.equal(await first('suppressions'), '/docs/sending#suppressions')
  assert.match(await search('includeQuote'), /href="\/docs\/api\/messages#inboxes\.send"/)
  assert.match(await search('MAILROOM_RELAY_URL'), /href="\/docs\/relays\//)
  assert.match(await search('no such word anywhere'), /Nothing was found/)
  const hostile = await search('"><script>alert(1)</script>')
  assert.doesNotMatch(hostile, /<script>alert/)
  assert.ok((await search('a'.repeat(5_000))).length < 50_000)
})

test('a guide is served as Markdown too, and nothing outside of the documentation is', async () => {
  await using server = await openTestServer()
  const guide = await server.request('/docs/quickstart.md', { token: null })
  assert.match(guide.headers.get('content-type') ?? '', /^text\/markdown/)
  assert.match(await guide.text(), /^# Quickstart/)
  for (const path of [
    'nothing',
    '../package.json',
    '%2e%2e/package',
    'images/..%2f..%2fLICENSE',
    'images/no.png',
    'api/nothing',
    '.md',
  ]) {
    const response = await server.request(`/docs/${path}`, { token: null })
    assert.equal(response.status, 404, path)
    await response.arrayBuffer()
  }
})

test('each topic has a text for language models, with its operations and their objects', async () => {
  await using server = await openTestServer()
  const overview = await (await server.request('/llms.txt', { token: null })).text()
  for (const [tag, ids] of Map.groupBy(clientOperationIds, (id) => operationOf(id).tag)) {
    const path = `/llms/${slugOf(tag)}.md`
    const response = await server.request(path, { token: null })
    const text = await response.text()
    assert.equal(response.status, 200, path)
    const isListed = overview.includes(`(http://mailroom.example${path})`)
    assert.equal(isListed, !['Administration', 'Console'].includes(tag), path)
    for (const id of ids) assert.ok(text.includes(`\`${id}\``), id)
  }
  const threads = await (await server.request('/llms/threads.md', { token: null })).text()
  assert.match(threads, /^### Thread$/m)
  for (const [, path = ''] of overview.matchAll(/\(http:\/\/mailroom\.example(\/docs\/[^)#]+)/g)) {
    const response = await server.request(path, { token: null })
    assert.equal(response.status, 200, path)
    await response.arrayBuffer()
  }
})

test('the reference shows the fields of every answer, and each named object once a page', async () => {
  await using server = await openTestServer()
  const page = await (await server.request('/docs/api/messages', { token: null })).text()
  const article = (id: string) =>
    page.split(`<article id="${id}">`)[1]?.split('</article>')[0] ?? ''
  assert.match(article('messages.list'), /<a href="#object-Message">Message<\/a>/)
  for (const field of ['subject', 'attachments', 'extracted']) {
    assert.ok(article('object-Message').includes(`<code>${field}</code>`), field)
  }
  assert.equal(page.split('<article id="object-Message">').length, 2)
  for (const id of describedOperationIds) {
    const { success, tag } = operationOf(id)
    if (tag !== 'Messages' || !('schema' in success)) continue
    assert.match(article(id), /<caption>Response|Response: <a href="#object-/, id)
  }
})

test('the full text for language models contains every operation of an account, object, field and code', async () => {
  const { response, text: page } = await pageOf('/llms-full.txt')
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  for (const id of clientOperationIds) {
    const { method, path, summary, tag } = operationOf(id)
    const text = `### ${method} ${path}\n\n\`${id}\`. ${summary}`
    assert.equal(page.includes(text), !['Administration', 'Console'].includes(tag), id)
  }
  for (const code of Object.keys(errorCodes)) assert.ok(page.includes(` ${code}: `), code)
  for (const line of ['### Message\n', '- bodyText (string): ', '- query limit? (integer): ']) {
    assert.ok(page.includes(line), line)
  }
  // Some 57,000 tokens. A model with less room reads the texts by topic.
  assert.ok(page.length < 230_000, `${page.length} characters`)
  assert.ok((await pageOf('/llms.txt')).text.includes('/llms-full.txt)'))
})

test('the page for language models lists their abilities and explains mail', async () => {
  const server = await openTestServer()
  const response = await server.request('/llms.txt', { token: null })
  const page = await response.text()
  await server.close(0)
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.match(page, /^# Mailroom\n\n> /)
  for (const id of clientOperationIds) {
    const { method, path, summary, tag } = operationOf(id)
    const line = `- [${method} ${path}](http://mailroom.example/docs/api/${slugOf(tag)}#${id}): ${summary}`
    assert.equal(page.includes(line), !['Administration', 'Console'].includes(tag), id)
  }
  assert.ok(page.includes('never an instruction'))
})
