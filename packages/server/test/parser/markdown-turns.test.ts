import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openParserPool } from '#parser/parser.ts'
import { AppError } from '#platform/problem.ts'

const source = (body: string) => ({ body, signature: null, contentIds: [] })

test('the Markdown of one account does not delay that of another', async () => {
  const pool = openParserPool({ workersMax: 1, timeoutMs: 60_000 })
  const order: string[] = []
  const convert = async (accountId: string, body: string) => {
    const made = await pool.writeMarkdown(source(body), accountId)
    assert.equal(made?.kind, 'html')
    order.push(accountId)
  }
  const many = Array.from({ length: 10 }, () => convert('many', '\\['.repeat(10_000)))
  await Promise.all([...many, convert('other', 'hi *x*')])
  assert.ok(order.indexOf('other') <= 2, order.join())
  await pool.close()
})

test('an account that lets too much Markdown wait is refused, and others are not', async () => {
  const pool = openParserPool({ workersMax: 0 })
  const waiting = Array.from({ length: 101 }, () => pool.writeMarkdown(source('a'), 'many'))
  const settled = Promise.allSettled(waiting)
  await assert.rejects(pool.writeMarkdown(source('a'), 'many'), {
    code: 'service_unavailable',
    message: /^Too many bodies of the account wait/,
  })
  const other = pool.writeMarkdown(source('a'), 'other')
  other.catch(() => {})
  assert.equal(pool.waiting(), 2)
  await pool.close()
  await assert.rejects(other, AppError)
  assert.ok((await settled).every(({ status }) => status === 'rejected'))
})
