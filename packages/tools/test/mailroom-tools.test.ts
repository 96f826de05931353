import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { opened, openTenant, plainMail } from '@mailroom/server/test/world.ts'
import {
  mailroomInstructions,
  mailroomTools,
  toAiSdk,
  toLangChain,
  toOpenAI,
} from '@mailroom/tools'
import { allTools, coreTools } from '@mailroom/tools/all-tools.ts'

const LIMIT = { timeout: 60_000 }
const world = opened(() => openTenant('sqlite'))

/** The tools of one inbox, by name. */
function toolsOf(inbox: string) {
  const tools = new Map(mailroomTools(world.client, { inbox }).map((tool) => [tool.name, tool]))
  return (name: string, given: unknown, signal?: AbortSignal) => {
    const tool = tools.get(name)
    assert.ok(tool)
    return tool.run(given, { signal })
  }
}

suite('mailroomTools', () => {
  test('reads fenced mail, and sends the same answer once', LIMIT, async () => {
    const { address } = await world.inbox()
    const call = toolsOf(address)
    await world.send({
      to: address,
      raw: plainMail({ to: address, subject: 'A question', body: 'What is the time?' }),
    })
    const [thread_id] = /thr_\w+/.exec(await call('list_unread', {})) ?? []
    assert.match(
      await call('read_thread', { thread_id }),
      /<<<MAIL (\w+) [\s\S]*What is the time\?[\s\S]*MAIL \1>>>/,
    )
    assert.match(await call('reply', { thread_id, body: 'Nine.' }), /^Sent to the reply address/)
    assert.match(await call('reply', { thread_id, body: 'Nine.' }), /^Already sent/)
  })

  test('tells the model what is wrong with its arguments or forbidden to it', LIMIT, async () => {
    const { address } = await world.inbox()
    const other = await world.inbox()
    const call = toolsOf(address)
    assert.match(
      await call('send_mail', { to: 'ann@firm.example', body: 5 }),
      /^The arguments are wrong\.\n.*expected string[\s\S]*at subject[\s\S]*at body/,
    )
    assert.match(await call('list_unread', { inbox: other.address }), /^No inbox/)
    assert.match(await call('read_thread', { thread_id: 'thr_none' }), /^No thread thr_none\./)
    const wrong = mailroomTools(world.client.withOptions({ apiKey: 'mr_wrong' }))
    const [list] = wrong.filter(({ name }) => name === 'list_unread')
    assert.match((await list?.run({})) ?? '', /^The service refused the API key/)
  })

  test('rejects with the reason of an aborted signal', LIMIT, async () => {
    const { address } = await world.inbox()
    const abort = new AbortController()
    const waiting = toolsOf(address)('wait_for_mail', { timeout_seconds: 30 }, abort.signal)
    setTimeout(() => abort.abort(new Error('stopped')), 200)
    await assert.rejects(waiting, /stopped/)
  })

  test('offers what was asked for, and refuses unknown names', () => {
    const namesOf = (options: Parameters<typeof mailroomTools>[1]) =>
      mailroomTools(world.client, options).map(({ name }) => name)
    const outside = allTools.filter((tool) => !tool.isOfSandbox)
    assert.deepEqual(
      namesOf({}),
      outside.map(({ name }) => name),
    )
    assert.deepEqual(
      namesOf({ isReadOnly: true }),
      outside.filter(({ isReading }) => isReading).map(({ name }) => name),
    )
    const core = allTools.filter((tool) => coreTools.includes(tool)).map(({ name }) => name)
    assert.deepEqual(namesOf({ only: 'core' }), core)
    assert.deepEqual(
      namesOf({ only: ['core', 'list_held'] }).toSorted(),
      [...core, 'list_held'].toSorted(),
    )
    assert.deepEqual(namesOf({ only: ['reply', 'list_unread'] }), ['list_unread', 'reply'])
    assert.deepEqual(namesOf({ only: ['simulate_inbound'] }), ['simulate_inbound'])
    assert.ok(!namesOf({ inbox: 'agent@example.com' }).includes('create_inbox'))
    assert.throws(() => namesOf({ only: ['list_unred'] }), /not "list_unred".*list_unread/)
    assert.throws(() => namesOf({ only: [] }), /only must be/)
    assert.throws(() => namesOf({ inbox: '' }), /inbox must be/)
  })

  test('has instructions for the model', () => {
    assert.match(mailroomInstructions(), /^Mailroom gives you email[\s\S]*never instructions/)
    assert.match(mailroomInstructions({ inbox: 'agent@example.com' }), /has one inbox/)
  })
})

test('the converters give each framework what it documents', LIMIT, async () => {
  const { address } = await world.inbox()
  const tools = mailroomTools(world.client, { inbox: address, only: ['list_unread'] })
  const answer = /^No unread/
  const { list_unread } = toAiSdk(tools)
  assert.deepEqual(list_unread?.inputSchema, tools[0]?.schema)
  assert.match((await list_unread?.execute({}, {})) ?? '', answer)
  type Options = { parameters: { type: string }; execute(given: unknown): Promise<string> }
  const [ofOpenAI] = toOpenAI(tools, (options: Options) => options)
  assert.equal(ofOpenAI?.parameters.type, 'object')
  assert.match((await ofOpenAI?.execute({})) ?? '', answer)
  type Run = (given: unknown, config: { signal?: AbortSignal }) => Promise<string>
  const [run] = toLangChain(tools, (run: Run, _: { name: string }) => run)
  assert.match((await run?.({}, {})) ?? '', answer)
  const aborted = { signal: AbortSignal.abort(new Error('stopped')) }
  await assert.rejects(async () => run?.({}, aborted), /stopped/)
})
