import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { opened, openWorld, plainMail } from '@mailroom/server/test/world.ts'
import { allTools } from '@mailroom/tools/all-tools.ts'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const LIMIT = { timeout: 60_000 }
const ROOT = new URL('../../../', import.meta.url)
const FILES = readdirSync(new URL('examples/', ROOT)).sort()
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

suite('the pages', () => {
  test('print every example unchanged', () => {
    const page = read('docs/examples.md')
    const printed = [...page.matchAll(/^`examples\/(.*?)`:\n\n```\w+\n(.*?)^```$/gms)]
    assert.deepEqual(printed.map(([, name]) => name).sort(), FILES)
    for (const [, name, text] of printed) assert.equal(text, read(`examples/${name}`), name)
  })

  test('the skill begins with its name and purpose', () => {
    const skill = read('skills/mailroom/SKILL.md')
    const [, head = ''] = /^---\n(.*?)\n---\n/s.exec(skill) ?? []
    assert.match(head, /^name: mailroom\ndescription: .{50,1024}$/)
  })
})

suite('the skill', () => {
  const skill = read('skills/mailroom/SKILL.md')
  const commands = [...skill.matchAll(/^mailroom (.*(?:\\\n.*)*)$/gm)].map(([, text = '']) => text)

  test(
    'shows commands of the command line that exist, with options that they have',
    LIMIT,
    async () => {
      assert.ok(commands.length > 6)
      const main = fileURLToPath(import.meta.resolve('@mailroom/cli/main.mjs'))
      for (const command of commands) {
        const words = command.split(/\s+/)
        const end = words.findIndex((word) => !/^[a-z]+$/.test(word))
        const args = [...words.slice(0, end === -1 ? undefined : end), '--help']
        const { stdout } = await promisify(execFile)(process.execPath, [main, ...args])
        const usage = args.slice(0, -1).join(' ')
        assert.ok(stdout.includes(`\nUsage: mailroom ${usage}`), `${command}\n${stdout}`)
        for (const [option] of command.matchAll(/--[a-z-]+/g))
          assert.ok(stdout.includes(option), command)
      }
    },
  )

  test('sends requests that the API supports', () => {
    const paths = [...skill.matchAll(/(?:MAILROOM_BASE_URL|GET )(\/[^"?` ]*)/g)]
    assert.ok(paths.length >= 5)
    const known = new Set(operationIds.map((id) => operationOf(id).path as string))
    for (const [, path = ''] of paths) {
      const template = path.replace(/\/\w+_…/, '/{id}')
      assert.ok(known.has(template) || template === '/llms.txt', path)
    }
  })
})

suite('the examples', () => {
  const world = opened(() =>
    openWorld('sqlite', { env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' } }),
  )
  const running = new Set<ChildProcess>()
  afterEach(async () => {
    for (const child of running) {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  })

  type Run = {
    output(): string
    until(pattern: RegExp): Promise<RegExpExecArray>
    ended: Promise<number | null>
  }

  function run(name: string, args: string[] = [], env: Record<string, string> = {}): Run {
    const path = new URL(`examples/${name}`, ROOT).pathname
    const child = spawn(process.execPath, [path, ...args], {
      env: {
        PATH: process.env.PATH ?? '',
        MAILROOM_BASE_URL: world.baseUrl,
        MAILROOM_API_KEY: world.key,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    running.add(child)
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    const ended = once(child, 'close').then(([code]) => {
      running.delete(child)
      return code as number | null
    })
    return {
      ended,
      output: () => output,
      async until(pattern) {
        for (;;) {
          const found = pattern.exec(output)
          if (found !== null) return found
          assert.ok(running.has(child), `It ended without ${pattern}:\n${output}`)
          await sleep(50)
        }
      },
    }
  }

  const deliver = (to: string, subject: string, body: string, headers: string[] = []) =>
    world.send({ to, raw: plainMail({ to, subject, body, headers }) })

  test(
    'each ends with a one-line message when the key is missing or no service answers',
    LIMIT,
    async () => {
      const away = `http://127.0.0.1:${await freePort()}`
      const cases: [string, string[], RegExp][] = [
        ['answer-mail.ts', [], /API_KEY/],
        ['wait-for-code.ts', [], /API_KEY/],
        ['receive-webhooks.mjs', [], /WEBHOOK_SECRET/],
      ]
      for (const [name, args, missing] of cases) {
        const keyless = run(name, args, { MAILROOM_API_KEY: '' })
        const unanswered = run(name, args, { MAILROOM_BASE_URL: away })
        const told = [await keyless.ended, await unanswered.ended]
        assert.deepEqual(told, [1, 1], keyless.output() + unanswered.output())
        assert.match(keyless.output(), /^.*is not set\.\n$/)
        assert.match(keyless.output(), missing)
        assert.match(unanswered.output(), /^.*(?:could not be reached|is not set).*\n$/)
      }
    },
  )

  test('the skill’s recipe for new mail works as written', LIMIT, async () => {
    const inbox = await world.inbox('agent')
    await deliver(inbox.address, 'A question', 'What is the time?')
    const [, recipe = ''] =
      /^Read what is new and answer it:\n\n```sh\n(.*?)^```/ms.exec(
        read('skills/mailroom/SKILL.md'),
      ) ?? []
    const main = fileURLToPath(import.meta.resolve('@mailroom/cli/main.mjs'))
    let printed = ''
    for (const line of recipe.trim().split('\n')) {
      // Every id of the recipe was printed by an earlier command.
      const known = line.replace(/\s+#.*$/, '').replace(/(thr|msg)_…/g, (_, kind) => {
        const [id] = new RegExp(`\\b${kind}_\\w+`).exec(printed) ?? []
        assert.ok(id, `${line}: no ${kind}_… was printed before\n${printed}`)
        return id
      })
      const command = known
        .replace('agent@example.com', inbox.address)
        .replace(/^mailroom/, `"${process.execPath}" "${main}"`)
      const env = {
        PATH: process.env.PATH ?? '',
        MAILROOM_BASE_URL: world.baseUrl,
        MAILROOM_API_KEY: world.key,
      }
      const { stdout } = await promisify(execFile)('sh', ['-c', command], { env })
      printed = stdout + printed
    }
    const { data } = await world.client.messages.list(inbox.id).page()
    assert.deepEqual(data.map(({ subject }) => subject).sort(), ['A question', 'Re: A question'])
    const unread = await world.client.threads.list(inbox.id, { is_read: false }).page()
    assert.equal(unread.total, 0)
  })

  test('answer-mail.ts answers people once, and programs never', LIMIT, async () => {
    const inbox = await world.inbox('answering')
    await deliver(inbox.address, 'Before', 'I was here before you.')
    const program = run('answer-mail.ts')
    await program.until(/Write to answering@mailroom\.localhost/)
    await program.until(/Answered msg_\w+ from .*sender\.example/)
    await deliver(inbox.address, 'Robot', 'I answer myself.', ['Auto-Submitted: auto-replied'])
    await deliver(inbox.address, 'After', 'And I came later.')
    await program.until(/Answered[\s\S]*Answered/)
    const sent = { direction: 'outbound' } as const
    const { data } = await world.client.messages.list(inbox.id, sent).page()
    assert.deepEqual(data.map(({ subject }) => subject).sort(), ['Re: After', 'Re: Before'])
    assert.match(data[0]?.bodyText ?? '', /Hello whoever you are/)
    // The newest is answered first, and the program's own mail marked after it.
    const unread = async () =>
      (await world.client.threads.list(inbox.id, { is_read: false }).page()).total
    while ((await unread()) > 0) await sleep(50)
  })

  test('wait-for-code.ts prints the code that arrives', LIMIT, async () => {
    const program = run('wait-for-code.ts')
    const [, address = ''] = await program.until(/Sign up with (\S+)\n/)
    await deliver(address, 'Welcome', 'We are glad that you are here in 2026.')
    await deliver(address, 'Your code', 'Your verification code is 482913.')
    await program.until(/^The code is 482913$/m)
    assert.equal(await program.ended, 0)
  })

  test('receive-webhooks.mjs accepts only requests that the service signed', LIMIT, async () => {
    const inbox = await world.inbox()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const { secret, id } = await world.client.webhooks.create({ url })
    const program = run('receive-webhooks.mjs', [], {
      WEBHOOK_SECRET: secret,
      PORT: String(port),
    })
    await program.until(/Listening/)
    await deliver(inbox.address, 'For the webhook', 'Hello')
    await program.until(/message\.received evt_\w+ For the webhook/)
    assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401)
    assert.equal((await world.client.webhooks.test(id)).ok, true)
    await world.client.webhooks.delete(id)
  })

  test('mcp.json connects a client', LIMIT, async () => {
    type Config = { mcpServers: { mailroom: { url: string; headers: Record<string, string> } } }
    const { mailroom } = (JSON.parse(read('examples/mcp.json')) as Config).mcpServers
    const url = new URL(mailroom.url)
    assert.deepEqual([url.pathname, url.port], ['/mcp', '8080'])
    const authorization = mailroom.headers.Authorization?.replace(`\${MAILROOM_API_KEY}`, world.key)
    const client = new Client({ name: 'test', version: '1' })
    const init = { headers: { authorization: authorization ?? '' } }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url.pathname, world.baseUrl), {
        requestInit: init,
      }),
    )
    assert.equal((await client.listTools()).tools.length, allTools.length)
    await client.close()
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
