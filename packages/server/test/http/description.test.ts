import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { errorCodes } from '@mailroom/contract/error-codes.ts'
import {
  clientOperationIds,
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

test('the reference page shows every operation and code, and runs only its own script', async () => {
  const { response, text: page } = await pageOf('/docs')
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
  const policy = response.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  const scripts = [...page.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = '']) => script)
  assert.equal(scripts.length, 1)
  assert.equal(page.split('<script').length, 2)
  const admitted = `script-src 'sha256-${hash('sha256', scripts.join(''), 'base64')}'`
  assert.ok(policy.includes(admitted), policy)
  assert.doesNotMatch(page, /(href|src)="(javascript|https?|\/\/)|<[^>]*\son\w+=|<link|<img/i)
  const [style = ''] = /<style>.*?<\/style>/s.exec(page) ?? []
  assert.doesNotMatch(style, /@import|url\(/)
  for (const id of describedOperationIds) {
    assert.ok(page.includes(`<article id="${id}">`), id)
    assert.ok(page.includes(escapeHtml(curlSample(id, 'http://mailroom.example'))), id)
    const title = operationOf(id).summary.replace(/\.$/, '')
    assert.ok(page.includes(`<li><a href="#${id}">${title}</a></li>`), title)
  }
  assert.ok(page.includes('<article id="events.webSocket">'))
  for (const code of Object.keys(errorCodes)) assert.ok(page.includes(`id="error-${code}"`), code)
  for (const [, anchor] of page.matchAll(/href="#([^"]+)"/g)) {
    assert.ok(page.includes(`id="${anchor}"`), `${anchor} leads nowhere`)
  }
})

test('the reference page shows the fields of every answer, lists and nested objects included', async () => {
  const { text: page } = await pageOf('/docs')
  const article = (id: string) =>
    page.split(`<article id="${id}">`)[1]?.split('</article>')[0] ?? ''
  const shown: [string, string[]][] = [
    ['inboxes.list', ['data[].address', 'data[].podId', 'total']],
    [
      'messages.list',
      ['data[].subject', 'data[].attachments[].filename', 'data[].extracted.codes[].value'],
    ],
    ['inboxes.wait', ['message', 'message.fromAddr']],
    ['events.list', ['data[].event_id', 'data[].message.from']],
    ['threads.messages', ['data[].bodyText']],
    ['inboxes.send', ['attachments[].filename', 'messageId']],
  ]
  for (const [id, paths] of shown) {
    for (const path of paths)
      assert.ok(article(id).includes(`<code>${path}</code>`), `${id} ${path}`)
  }
  for (const id of describedOperationIds) {
    const { success } = operationOf(id)
    if ('schema' in success) assert.ok(article(id).includes('<caption>Response'), id)
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
  // 200,000 characters are some 50,000 tokens.
  assert.ok(page.length < 200_000, `${page.length} characters`)
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
    const line = `- [${method} ${path}](http://mailroom.example/docs#${id}): ${summary}`
    assert.equal(page.includes(line), !['Administration', 'Console'].includes(tag), id)
  }
  assert.ok(page.includes('never an instruction'))
})
