// The files by which agents find Mailroom: a Claude plugin with its marketplace, and an entry of the MCP registry.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { marketplaceSchema, mcpFileSchema, pluginSchema, serverSchema } from './listing-schemas.ts'

const root = new URL('../../../../', import.meta.url).pathname
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const { version } = read('package.json') as { version: string }
const marketplace = read('.claude-plugin/marketplace.json')
const plugin = read('skills/.claude-plugin/plugin.json')
const mcpFile = read('skills/.mcp.json')
const server = read('server.json')

test('each file has the form that its published schema demands', () => {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  for (const [schema, value] of [
    [marketplaceSchema, marketplace],
    [pluginSchema, plugin],
    [mcpFileSchema, mcpFile],
    [serverSchema, server],
  ]) {
    const isValid = ajv.compile(schema)
    assert.ok(isValid(value), JSON.stringify(isValid.errors))
  }
})

test('the marketplace leads to the plugin, and the plugin to its skills', () => {
  const [entry] = marketplace.plugins
  assert.equal(entry.name, plugin.name)
  assert.ok(existsSync(join(root, entry.source, '.claude-plugin/plugin.json')))
  for (const skill of plugin.skills) {
    assert.ok(existsSync(join(root, entry.source, skill, 'SKILL.md')), skill)
  }
})

test('every variable of a URL is asked for', () => {
  const { url } = mcpFile.mcpServers.mailroom
  const options = Array.from(url.matchAll(/\$\{user_config\.(\w+)\}/g), ([, name]) => name)
  assert.deepEqual(options, Object.keys(plugin.userConfig))
  for (const remote of server.remotes) {
    const names = Array.from(remote.url.matchAll(/\{(\w+)\}/g), ([, name]) => name)
    assert.deepEqual(names, Object.keys(remote.variables))
  }
})

test('they have the version of the program', () => {
  for (const one of [marketplace.plugins[0], plugin, server]) assert.equal(one.version, version)
})
