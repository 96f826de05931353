import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anchorsOf, findDeadLinks } from './links.ts'

test('headings have the anchors that GitHub gives them', () => {
  const page =
    '# A page\n## `npm ci`, and *why*?\n## A page\n```sh\n# no heading\n```\n### Port 25 – out\n'
  assert.deepEqual([...anchorsOf(page)], ['a-page', 'npm-ci-and-why', 'a-page-1', 'port-25--out'])
})

test('a link leads to a file and to a heading in it, or is told', () => {
  const files: Record<string, string> = {
    'docs/a.md':
      '# A\n[b](b.md) [there](b.md#there) [here](#a) [up](../README.md) ![c](c.png) [x](https://x.example/y#z)\n' +
      '[gone](gone.md) [no](b.md#no) [nor](#nor) `[code](code.md)`\n[ref]: gone-too.md\n<img src="d.png">\n',
    'docs/b.md': '# B\n## There\n',
    'docs/c.png': '',
    'README.md': '',
  }
  assert.deepEqual(
    findDeadLinks(['docs/a.md'], (path) => files[path] ?? null),
    [
      'docs/a.md: gone.md leads to no file',
      'docs/a.md: b.md#no leads to no heading',
      'docs/a.md: #nor leads to no heading',
      'docs/a.md: gone-too.md leads to no file',
      'docs/a.md: d.png leads to no file',
    ],
  )
})
