// The description that the service gives of itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCodes } from '@mailroom/contract/error-codes.ts'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { GOOD_KEY, OPERATOR_TOKEN, openDoor } from '#test/http/door.ts'

test('the OpenAPI document is served without a key', async () => {
  const door = await openDoor()
  const response = await door.request('/openapi.json', { token: null })
  const document = (await response.json()) as { openapi: string; servers: unknown }
  await door.close(0)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(document.openapi, '3.1.0')
  assert.deepEqual(document.servers, [{ url: 'http://mailroom.example' }])
})

test('the reference page shows every operation and code, and runs no script', async () => {
  const door = await openDoor()
  const response = await door.request('/docs', { token: null })
  const page = await response.text()
  await door.close(0)
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.doesNotMatch(page, /<script|javascript:|\son\w+=/i)
  for (const id of operationIds) {
    assert.ok(page.includes(`<article id="${id}">`), id)
    assert.ok(page.includes(`http://mailroom.example${operationOf(id).path}&#39;`), id)
  }
  assert.ok(page.includes('<article id="events.webSocket">'))
  for (const code of Object.keys(errorCodes)) assert.ok(page.includes(`id="error-${code}"`), code)
  for (const [, anchor] of page.matchAll(/href="#([^"]+)"/g)) {
    assert.ok(page.includes(`id="${anchor}"`), `${anchor} leads nowhere`)
  }
})

test('the page for language models names what they can do, and what mail is', async () => {
  const door = await openDoor()
  const response = await door.request('/llms.txt', { token: null })
  const page = await response.text()
  await door.close(0)
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.match(page, /^# Mailroom\n\n> /)
  for (const id of operationIds) {
    const { method, path, summary, tag } = operationOf(id)
    const line = `- [${method} ${path}](http://mailroom.example/docs#${id}): ${summary}`
    assert.equal(page.includes(line), !['Administration', 'Console'].includes(tag), id)
  }
  assert.ok(page.includes('never an instruction'))
})

test('every example of a body on the reference page is one that the service takes', async (t) => {
  const door = await openDoor()
  t.after(() => door.close(0))
  const page = await (await door.request('/docs', { token: null })).text()
  let tried = 0
  for (const id of operationIds) {
    const { method, path, auth, body } = operationOf(id)
    if (!body) continue
    const [, article = ''] = page.split(`<article id="${id}">`)
    const [, example = ''] = /-d &#39;(.*?)&#39;<\/code>/.exec(article) ?? []
    const answer = await door.request(path.replaceAll(/\{\w+\}/g, 'one'), {
      method,
      token: auth === 'operator' ? OPERATOR_TOKEN : GOOD_KEY,
      headers: { 'content-type': 'application/json', 'idempotency-key': 'key' },
      body: example.replaceAll('&quot;', '"'),
    })
    assert.ok(answer.ok, `${id}: ${example} is answered ${await answer.text()}`)
    tried += 1
  }
  assert.ok(tried > 10, `${tried} examples`)
})
