// A person connects an assistant, sees where its sign-in ended, and revokes it.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { SERVICE_KEY } from '@mailroom/server/test/crash/service.ts'
import {
  approve,
  callMcp,
  connectAssistant,
  register,
} from '@mailroom/server/test/scenarios/oauth-client.ts'
import { type ConsoleWorld, openConsoleWorld } from '#test/browser/console-world.ts'

suite('connections in the console', () => {
  let world: ConsoleWorld
  before(async () => {
    world = await openConsoleWorld()
    await world.signIn('/console/connections')
  })
  after(() => world.close())

  const person = () => ({ baseUrl: world.service.baseUrl, key: SERVICE_KEY })
  const stepRow = (step: string) => world.page.getByRole('row').filter({ hasText: step }).first()

  test('links and lines have the URL of the service', async () => {
    const { page, service } = world
    const url = `${service.baseUrl}/mcp`
    await page.getByText('No assistant is connected').waitFor()
    await page.getByText('Only programs on this machine reach the service').waitFor()
    await page.getByRole('tab', { name: 'Claude Code' }).click()
    await page.getByText(`claude mcp add --transport http mailroom ${url}`).waitFor()
    await page.getByRole('tab', { name: 'Cursor' }).click()
    const cursor = await page.getByRole('link', { name: 'Add to Cursor' }).getAttribute('href')
    const { protocol, searchParams } = new URL(cursor ?? '')
    assert.equal(protocol, 'cursor:')
    assert.deepEqual(JSON.parse(atob(searchParams.get('config') ?? '')), { url })
    await page.getByRole('tab', { name: 'VS Code' }).click()
    const code = await page.getByRole('link', { name: 'Add to VS Code' }).getAttribute('href')
    const [start, config = ''] = (code ?? '').split('?')
    assert.equal(start, 'vscode:mcp/install')
    assert.deepEqual(JSON.parse(decodeURIComponent(config)), {
      name: 'mailroom',
      type: 'http',
      url,
    })
  })

  test('an assistant that signed in and never called is told apart from one that works', async () => {
    const { page } = world
    const { tokens } = await connectAssistant(person(), { scopes: ['mail:read'] })
    await page.reload()
    const row = page.getByRole('row').filter({ hasText: 'Acme assistant' }).first()
    await row.getByText('Never called').waitFor()
    await row.getByText('read', { exact: true }).waitFor()
    await stepRow('Fetched a token').getByText('the assistant has not called').waitFor()
    assert.equal((await callMcp(person(), tokens.access_token)).status, 200)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await stepRow('First call').getByText('Done').waitFor()
    await page.reload()
    await stepRow('Fetched a token').waitFor()
    assert.equal(await page.getByText('the assistant has not called').count(), 0)
    assert.equal(await page.getByText('Never called').count(), 0)
  })

  test('a step that failed says why', async () => {
    const { page } = world
    const clientId = await register(person())
    const client = { resource: 'https://other.example/mcp' }
    await approve(person(), clientId, { client }).catch(() => {})
    await page.getByRole('button', { name: 'Refresh' }).click()
    const failed = page.getByRole('row').filter({ hasText: 'invalid_target' })
    await failed.getByText('Failed').waitFor()
  })

  test('a revoked connection is gone, and its token with it', async () => {
    const { page } = world
    const { tokens } = await connectAssistant(person(), { scopes: ['mail:read'] })
    await page.reload()
    const revoke = page.getByRole('button', { name: 'Revoke Acme assistant' })
    for (let count = 2; count > 0; count -= 1) {
      await revoke.first().click()
      await page.getByRole('button', { name: 'Revoke connection' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await page.getByText('No assistant is connected').waitFor()
    assert.equal((await callMcp(person(), tokens.access_token)).status, 401)
  })
})
