import assert from 'node:assert/strict'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Claim, ClaimedThread, Inbox, Message, Thread } from '@mailroom/sdk'
import { opened, prepared } from '@mailroom/server/test/world.ts'
import { CliWorld } from '#test/cli-world.ts'

type Page<Item> = { data: Item[]; total: number }

const world = opened(() => CliWorld.open())
const inbox = prepared(() => world.json<Inbox>('inbox', 'create', 'shared'))

async function receive(subject: string, { address } = inbox): Promise<Message> {
  const mail = { from: 'ann@far.example', to: address, subject, text: 'A text.' }
  const { data } = await world.client.sandbox.receive(mail)
  const [message] = data
  assert.ok(message)
  return message
}

const threadOf = (id: string) => world.client.threads.get(id)

test('labels of threads and messages are added and removed, and lists are filtered by them', async () => {
  const { id, threadId } = await receive('Labels')
  const add = ['--add', 'urgent', '--add', 'billing,later']
  const labelled = await world.json<Thread>('threads', 'label', threadId, ...add)
  assert.deepEqual(labelled.labels, ['billing', 'later', 'urgent'])
  await world.good('threads', 'label', threadId, '--remove', 'later', '--add', 'vip')
  assert.deepEqual((await threadOf(threadId)).labels, ['billing', 'urgent', 'vip'])
  const found = await world.json<Page<Thread>>(
    'threads',
    'list',
    '--label',
    'vip',
    '--label',
    'urgent',
  )
  assert.deepEqual(
    found.data.map((thread) => thread.id),
    [threadId],
  )
  assert.equal(await world.good('threads', 'list', '--labels', 'vip,later'), '')
  const message = await world.json('messages', 'label', id, '--add', 'receipt')
  assert.deepEqual(message, { id, labels: ['receipt'] })
  assert.deepEqual((await world.client.messages.get(id)).labels, ['receipt'])
  const nothing = await world.run(['threads', 'label', threadId])
  assert.equal(nothing.code, 2)
  assert.match(nothing.stderr, /--add or --remove/)
  const wrong = await world.run(['threads', 'label', threadId, '--add', 'Not A Label'])
  assert.equal(wrong.code, 5)
  assert.deepEqual((await threadOf(threadId)).labels, ['billing', 'urgent', 'vip'])
})

test('a thread is assigned, put off for a time or until one, and both end', async () => {
  const { threadId } = await receive('Later')
  assert.match(await world.good('threads', 'assign', threadId, 'Ann'), /^assignee\tAnn$/m)
  assert.equal((await threadOf(threadId)).assignee, 'Ann')
  await world.good('threads', 'assign', threadId)
  assert.equal((await threadOf(threadId)).assignee, null)
  const before = Date.now()
  await world.good('threads', 'snooze', threadId, '2h')
  const untilMs = Date.parse((await threadOf(threadId)).snoozedUntil ?? '')
  assert.ok(untilMs >= before + 7_200_000 && untilMs <= Date.now() + 7_200_000)
  const time = '2099-11-20T07:19:00.000Z'
  await world.good('threads', 'snooze', threadId, time)
  assert.equal((await threadOf(threadId)).snoozedUntil, time)
  await world.good('threads', 'snooze', threadId)
  assert.equal((await threadOf(threadId)).snoozedUntil, null)
  const wrong = await world.run(['threads', 'snooze', threadId, 'soon'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /"soon" is neither a time nor a duration/)
})

test('later commands in a thread use the claim of an earlier one, until its release', async () => {
  const { threadId, id } = await receive('Claimed here')
  const owner = ['--owner', 'worker 7', '--lease-seconds', '60']
  const claim = await world.json<Claim>('threads', 'claim', threadId, ...owner)
  const path = join(world.home, '.local/state/mailroom/claims', threadId)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  await world.good('threads', 'label', threadId, '--add', 'mine')
  await world.good('messages', 'label', id, '--add', 'mine')
  await world.good('reply', threadId, '--text', 'I am on it.')
  await world.good('threads', 'renew', threadId, '--lease-seconds', '600')
  assert.equal(JSON.parse(await readFile(path, 'utf8')).leaseToken, claim.leaseToken)

  const wrong = ['threads', 'assign', threadId, 'Ann', '--lease-token', 'mrl_wrong']
  const refused = await world.run(wrong)
  assert.equal(refused.code, 5)
  assert.match(refused.stderr, /Stop working on this thread/)
  await world.good('threads', 'release', threadId)
  await assert.rejects(stat(path), { code: 'ENOENT' })
  const after = await world.run(['threads', 'release', threadId])
  assert.equal(after.code, 5)
  assert.match(after.stderr, /^ {2}Give --lease-token or set MAILROOM_LEASE_TOKEN\. /m)
})

test('the file of a claim is removed when its lease has expired', async () => {
  const { threadId } = await receive('Expired')
  await world.good('threads', 'claim', threadId, '--owner', 'worker', '--lease-seconds', '60')
  const path = join(world.home, '.local/state/mailroom/claims', threadId)
  const kept = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({ ...kept, expiresAt: '2026-01-01T00:00:00.000Z' }))
  assert.equal((await world.run(['threads', 'assign', threadId, 'Ann'])).code, 5)
  await assert.rejects(stat(path), { code: 'ENOENT' })
})

test('a claimed thread is changed only with its token, from the option or the environment', async () => {
  const { threadId } = await receive('Claimed')
  const owner = ['--owner', 'worker 7', '--lease', '60s']
  const claim = await world.json<Claim>('threads', 'claim', threadId, ...owner)
  assert.deepEqual([claim.owner, claim.threadId], ['worker 7', threadId])
  // As on the machine of another worker.
  await rm(join(world.home, '.local/state'), { recursive: true })
  const again = await world.run(['threads', 'claim', threadId, ...owner])
  assert.equal(again.code, 5)
  assert.match(again.stderr, /thread_claimed|claimed/)
  const assign = ['threads', 'assign', threadId, 'Ann']
  const refused = await world.run(assign)
  assert.equal(refused.code, 5)
  assert.equal((await threadOf(threadId)).assignee, null)
  await world.good(...assign, '--lease-token', claim.leaseToken)
  assert.equal((await threadOf(threadId)).assignee, 'Ann')
  const env = { MAILROOM_LEASE_TOKEN: claim.leaseToken }
  for (const args of [
    ['threads', 'label', threadId, '--add', 'mine'],
    ['threads', 'snooze', threadId, '1h'],
    ['threads', 'read', threadId],
    ['reply', threadId, '--text', 'I am on it.'],
  ]) {
    assert.equal((await world.run(args)).code, 5, args.join(' '))
    const { code, stderr } = await world.run(args, { env })
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  }
  const renewed = await world.run(['threads', 'renew', threadId, '--lease', '10m'], { env })
  assert.equal(renewed.code, 0, renewed.stderr)
  assert.equal((await world.run(['threads', 'release', threadId])).code, 5)
  const released = await world.run(['threads', 'release', threadId], { env })
  assert.equal(released.code, 0, released.stderr)
  assert.equal((await threadOf(threadId)).claim, null)
  await world.good('threads', 'assign', threadId)
})

test('the oldest unread threads of an inbox are claimed', async () => {
  const own = await world.client.inboxes.create()
  const first = await receive('First', own)
  const ids = [first.threadId, (await receive('Second', own)).threadId]
  await receive('Third', own)
  const claim = ['inbox', 'claim', '--inbox', own.address]
  const { data } = await world.json<{ data: ClaimedThread[] }>(
    ...[...claim, '--owner', 'worker', '--lease', '5m', '--max', '2'],
  )
  assert.deepEqual(
    data.map(({ threadId }) => threadId),
    ids,
  )
  const row = await world.good(...claim)
  assert.match(row, /^thr_\S+\t1\t\S+\tmrl_\S+\tThird\n$/)
  const none = await world.run(claim)
  assert.deepEqual([none.code, none.stdout], [0, ''])
  assert.equal(none.stderr, 'No unread thread is free to claim.\n')
})

test('work runs a command for each thread, and what fails is left for the next', async () => {
  const own = await world.client.inboxes.create()
  const good = await receive('To be done', own)
  const bad = await receive('To fail', own)
  const done = join(world.home, 'done.txt')
  const script = join(world.home, 'handle.sh')
  // Each line: the names of the environment, and the claim from standard input.
  const lines = [
    'claim=$(cat)',
    `printf '%s\\t%s\\t%s\\t%s\\n' "$MAILROOM_THREAD_ID" "$MAILROOM_INBOX_ID" "$MAILROOM_LEASE_TOKEN" "$claim" >> '${done}'`,
    'case $claim in *"To fail"*) exit 3 ;; esac',
  ]
  await writeFile(script, lines.join('\n'))
  const args = ['--exec', `sh '${script}'`, '--owner', 'worker 7', '--lease', '60s']
  const running = world.start(['work', '--inbox', own.id, ...args])
  await running.until(new RegExp(`${good.threadId} is done\\.`))
  await running.until(new RegExp(`${bad.threadId} failed: The command exited with 3`))
  running.child.kill('SIGTERM')
  const { code, stdout, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  const told = (await readFile(done, 'utf8')).trimEnd().split('\n')
  assert.equal(told.length, 2)
  for (const [at, message] of [good, bad].entries()) {
    const [threadId, inboxId, token = '', json = ''] = told[at]?.split('\t') ?? []
    const claim: ClaimedThread = JSON.parse(json)
    assert.deepEqual([threadId, inboxId, claim.owner], [message.threadId, own.id, 'worker 7'])
    assert.equal(token, claim.leaseToken)
    assert.equal(claim.thread.subject, message.subject)
    assert.ok(!(stdout + stderr).includes(token))
  }
  const [after, left] = [await threadOf(good.threadId), await threadOf(bad.threadId)]
  assert.deepEqual([after.isRead, after.claim], [true, null])
  assert.deepEqual([left.isRead, left.claim?.owner], [false, 'worker 7'])
})

test('work ends after the command under way, and refuses what it cannot do', async () => {
  const own = await world.client.inboxes.create()
  const { threadId } = await receive('Slowly', own)
  const work = ['work', '--inbox', own.id, '--exec']
  const running = world.start([...work, 'echo started; sleep 1; echo finished'])
  await running.until(/started/)
  running.child.kill('SIGINT')
  const { code, stdout } = await running.ended
  assert.deepEqual([code, stdout], [0, 'started\nfinished\n'])
  assert.equal((await threadOf(threadId)).isRead, true)
  for (const args of [
    ['--concurrency', '0'],
    ['--lease', 'long'],
    ['--category', 'none'],
  ]) {
    assert.equal((await world.run(['work', '--exec', 'true', ...args])).code, 2, args.join(' '))
  }
  assert.equal((await world.run(['work'])).code, 2)
})
