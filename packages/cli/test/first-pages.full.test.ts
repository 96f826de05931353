import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { until } from '@mailroom/server/test/scenarios/outcomes.ts'
import { blockOf, blocksOf, commandsOf, isInstalled, PYTHON, Reader } from '#test/reader.ts'

const LIMIT = { timeout: 300_000 }
const skip = isInstalled('curl', '--version') ? false : 'curl is not installed'

/** What a reader of each page does, in the order in which the README leads to the pages. */
const PAGES: Record<string, (reader: Reader) => Promise<void>> = {
  'README.md': readReadme,
  'docs/quickstart.md': readQuickstart,
  'docs/cli.md': readCli,
  'docs/mcp.md': readMcp,
  'docs/workers.md': readWorkers,
  'docs/python.md': readPython,
  'docs/reviews.md': readReviews,
  'docs/policy.md': readPolicy,
}

suite('the first pages for new users', { skip }, () => {
  test('run from top to bottom on one service, and a second time', LIMIT, async () => {
    await using reader = await Reader.open()
    for (const read of [...Object.values(PAGES), ...Object.values(PAGES)]) await read(reader)
  })

  for (const [name, read] of Object.entries(PAGES)) {
    // The README is the first page of the test above.
    if (name === 'README.md') continue
    test(`${name} runs on a service where no other page was read`, LIMIT, async () => {
      await using reader = await Reader.open()
      await read(reader)
    })
  }
})

async function readReadme(reader: Reader): Promise<void> {
  const { client } = reader.world
  const output = await reader.shell(commandsOf('README.md', 'Receive with curl'))
  assert.match(output, /"subject":"Hello"/)

  const mail = blocksOf('README.md', 'An agent in ten lines').find(
    ({ language, code }) => language === 'sh' && code.includes('ADDRESS'),
  )
  const programs = [['agent.ts', blockOf('README.md', 'An agent in ten lines', 'ts')]]
  if (PYTHON !== undefined)
    programs.push(['agent.py', blockOf('README.md', 'An agent in ten lines', 'python')])
  for (const [file = '', code = ''] of programs) {
    const agent = reader.start(file, code)
    const [, address = ''] = await agent.until(/^Write to (\S+)$/m)
    // Mail that arrives before the program waits does not end its wait, so it is sent again.
    const again = setInterval(
      () =>
        void client.sandbox.receive({
          from: 'ann@example.com',
          to: address,
          subject: 'Hello',
          text: 'Again',
        }),
      10_000,
    )
    await reader.shell(mail?.code.replace('ADDRESS', address) ?? '')
    assert.match(await agent.ended, /^ann@example\.com (?:Are you there\?|Again)$/m)
    clearInterval(again)
    const [answer] = (await client.sandbox.list({ limit: 1 }).page()).data
    assert.deepEqual(answer?.to, ['ann@example.com'])
  }

  const { total } = await client.sandbox.list().page()
  const approving = reader.start('approve.ts', blockOf('README.md', 'A person approves', 'ts'))
  const approved = await approving.ended
  assert.match(approved, /^Held because of \[\s*\{\s*guard: 'newRecipients'/)
  const [, token = ''] = /^export MAILROOM_APPROVER_TOKEN=(mra_\w+)$/m.exec(approved) ?? []
  reader.export('MAILROOM_APPROVER_TOKEN', token)
  await until(async () => (await client.sandbox.list().page()).total > total)
  const [sent] = (await client.sandbox.list({ limit: 1 }).page()).data
  assert.deepEqual([sent?.to, sent?.subject], [['stranger@example.org'], 'Hello'])
}

async function readQuickstart(reader: Reader): Promise<void> {
  const page = 'docs/quickstart.md'
  const output = await reader.shell(commandsOf(page))
  assert.match(output, /"address":"agent@mailroom\.localhost"/)
  assert.match(output, /Can you read this\?/)
  assert.match(output, /^482913$/m)
  assert.match(output, /"secret":"whsec_/)
  assert.match(output, /^id: evt_/m)
  const sample = Object.keys(JSON.parse(blockOf(page, 'Create an inbox', 'json')))
  const [, inbox = ''] = /^(\{"id":"inb_.*)$/m.exec(output) ?? []
  assert.deepEqual(sample, Object.keys(JSON.parse(inbox)))

  const programs = [['agent.ts', blockOf(page, 'From TypeScript', 'ts')]]
  if (PYTHON !== undefined) programs.push(['agent.py', blockOf(page, 'From Python', 'python')])
  for (const [file = '', code = ''] of programs) {
    const answered = await reader.start(file, code).ended
    assert.match(answered, /^bob@example\.com Gladly\.$/m)
    assert.match(answered, /Hello, Bob 3$/m)
    assert.match(answered, /^bad_request .+$/m)
  }
}

async function readCli(reader: Reader): Promise<void> {
  const output = await reader.shell(commandsOf('docs/cli.md'))
  assert.match(output, /^From: ann@example\.com/m)
  assert.match(output, /^482913$/m)
  assert.match(output, /<<<MAIL \w+ /)
}

async function readMcp(reader: Reader): Promise<void> {
  const output = await reader.shell(commandsOf('docs/mcp.md'))
  assert.match(output, /482913/)
  assert.match(output, /assistant@mailroom\.localhost[\s\S]*"jsonrpc":"2\.0"/)
}

async function readWorkers(reader: Reader): Promise<void> {
  const worker = reader.start('worker.ts', blockOf('docs/workers.md', 'A queue of work', 'ts'))
  await worker.until(/^Working on helpdesk@/m)
  await reader.shell(commandsOf('docs/workers.md'))
  await worker.until(/^Answered thr_/m)
  await worker.interrupt()
}

async function readPython(reader: Reader): Promise<void> {
  if (PYTHON === undefined) {
    return console.log('docs/python.md was not run, because no python3 has httpx.')
  }
  const { client } = reader.world
  const page = 'docs/python.md'
  const program = (heading: string) => blockOf(page, heading, 'python')
  const begun = await reader.start('begin.py', program('Begin')).ended
  assert.match(begun, /^bob@example\.com Gladly\..*\ncode 482913$/m)

  const [{ code: following = '' } = {}, { code: receiving = '' } = {}] = blocksOf(page, 'Events')
  const events = reader.start('events.py', following)
  const [inbox] = (await client.inboxes.list({ limit: 1 }).page()).data
  const to = inbox?.address ?? ''
  const writing = setInterval(
    () => void client.sandbox.receive({ from: 'ann@example.com', to, subject: 'Noted' }),
    1_000,
  )
  await events.until(/^evt_\w+ Noted$/m)
  clearInterval(writing)

  reader.export('WEBHOOK_SECRET', 'whsec_dGVzdA==')
  const port = String(20_000 + (process.pid % 10_000))
  const receiver = reader.start('receiver.py', receiving.replace('3000', port))
  await until(async () => (await statusOf(`http://127.0.0.1:${port}/`)) === 401)

  const worker = reader.start('worker.py', program('Shared work'))
  await worker.until(/^Working on helpdesk@/m)
  const mail = { from: 'ann@example.com', to: 'helpdesk@mailroom.localhost', text: 'Fire!' }
  await client.sandbox.receive({ ...mail, subject: 'The printer' })
  await worker.until(/^Answered thr_/m)
  await worker.interrupt()

  assert.match(await reader.start('list.py', program('asyncio')).ended, /^\S+@\S+ \d+ threads$/m)
  for (const endless of [events, receiver]) await endless.interrupt().catch(() => {})
}

async function statusOf(url: string): Promise<number | null> {
  return fetch(url, { method: 'POST', body: '{}' }).then(
    ({ status }) => status,
    () => null,
  )
}

const functions = () => commandsOf('docs/quickstart.md', 'Shell functions')

async function readReviews(reader: Reader): Promise<void> {
  const output = await reader.shell(functions() + commandsOf('docs/reviews.md'))
  assert.match(output, /"status":"approved"/)
  assert.match(output, /"status":"rejected"/)
}

async function readPolicy(reader: Reader): Promise<void> {
  const output = await reader.shell(functions() + commandsOf('docs/policy.md'))
  assert.match(output, /"decision":"(?:hold|reject)"/)
}
