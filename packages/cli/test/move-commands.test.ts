// Exports, imports and erasures on the command line.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Erasure, Import, Inbox } from '@mailroom/sdk'
import { opened, prepared } from '@mailroom/server/test/world.ts'
import { CliWorld } from '#test/cli-world.ts'

const world = opened(() => CliWorld.open())
const inbox = prepared(() => world.json<Inbox>('inbox', 'create', 'moving'))

const MBOX = ['ann', 'eve']
  .map(
    (name) =>
      `From ${name}@a.example Tue Feb  3 04:05:06 2015\nFrom: ${name}@a.example\nSubject: of ${name}\nMessage-ID: <${name}@a.example>\n\nText\n\n`,
  )
  .join('')

test('mail is imported from a file, exported into one, and erased', async () => {
  const [from, to] = [join(world.home, 'in.mbox'), join(world.home, 'out.jsonl')]
  await writeFile(from, MBOX)
  const into = ['import', from, '--inbox', inbox.address]
  const { imported, failed } = await world.json<Import>(...into)
  assert.deepEqual([imported, failed], [2, 0])
  assert.match(await world.good(...into), /^duplicates\t2$/m)

  const out = ['export', '--inbox', inbox.id, '--format', 'jsonl', '-o', to]
  assert.equal(await world.good(...out), `${to}\n`)
  const lines = (await readFile(to, 'utf8')).trimEnd().split('\n')
  assert.equal(lines.length, 2)
  assert.equal((await world.run(out)).code, 1)
  assert.equal(await world.good(...out, '--force'), `${to}\n`)

  assert.equal((await world.run(['erase', 'eve@a.example'])).code, 2)
  const receipt = await world.json<Erasure>('erase', 'eve@a.example', '--yes')
  assert.equal(receipt.removed.messages, 1)
  assert.equal((await world.client.messages.list(inbox.id).page()).total, 1)
  const missing = await world.run(['import', join(world.home, 'none'), '--inbox', inbox.id])
  assert.match(missing.stderr, /none cannot be read/)
})
