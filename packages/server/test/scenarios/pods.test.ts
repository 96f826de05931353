import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSql } from '#test/peers/sql.ts'
import { countOutcomes, refusal, refusalOf, repeat } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, prepared, type World } from '#test/world.ts'

onEachEngine('pods', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)

  test('the default pod comes first, then the newest, and stays the only default', async () => {
    const { client } = await world.newAccount()
    const made = await repeat(3, (index) => client.pods.create({ name: `pod ${index}` }))
    const { data, total } = await client.pods.list().page()
    assert.equal(total, 4)
    assert.deepEqual(
      data.map(({ isDefault }) => isDefault),
      [true, false, false, false],
    )
    const newestFirst = made
      .map(({ id }) => id)
      .sort()
      .reverse()
    assert.deepEqual(
      data.slice(1).map(({ id }) => id),
      newestFirst,
    )
    const { data: second } = await client.pods.list({ limit: 1, offset: 1 }).page()
    assert.deepEqual(second, data.slice(1, 2))
  })

  test('the default pod cannot be deleted, empty or not', async () => {
    const { client } = await world.newAccount()
    const [pod] = (await client.pods.list().page()).data
    const id = pod?.id ?? ''
    assert.equal(await refusal(client.pods.delete(id)), '409 default_pod')
    await client.inboxes.create()
    assert.equal(await refusal(client.pods.delete(id)), '409 default_pod')
    await client.pods.update(id, { clientId: 'mine', name: 'Mine' })
    assert.equal(await refusal(client.pods.delete('mine')), '409 default_pod')
    assert.equal((await client.pods.get('mine')).isDefault, true)
  })

  test('a pod has an id of its own whatever the client chose', async () => {
    const bare = await client.pods.create()
    assert.match(bare.id, /^pod_[0-9a-z]{26}$/)
    assert.deepEqual([bare.clientId, bare.name, bare.isDefault], [null, null, false])
    assert.match(bare.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual(await client.pods.get(bare.id), bare)
  })

  test('a clientId names the pod wherever an id does', async () => {
    const pod = await client.pods.create({ clientId: 'tenant:1 ü?#%', name: 'Tenant' })
    assert.deepEqual(await client.pods.get('tenant:1 ü?#%'), pod)
    const inbox = await client.inboxes.create({ podId: 'tenant:1 ü?#%' })
    assert.equal(inbox.podId, pod.id)
    for (const podId of [pod.id, 'tenant:1 ü?#%']) {
      const page = await client.inboxes.list({ podId }).page()
      assert.deepEqual(page, { data: [inbox], total: 1 })
    }
    const renamed = await client.pods.update('tenant:1 ü?#%', { clientId: 'tenant-2' })
    assert.deepEqual(renamed, { ...pod, clientId: 'tenant-2' })
    assert.equal(await refusal(client.pods.get('tenant:1 ü?#%')), '404 not_found')
    await client.inboxes.delete(inbox.id)
    await client.pods.delete('tenant-2')
    assert.equal(await refusal(client.pods.get(pod.id)), '404 not_found')
  })

  test('a clientId is unique in an account, and free in another', async () => {
    await client.pods.create({ clientId: 'unique' })
    const other = await client.pods.create({ clientId: 'other' })
    assert.equal(await refusal(client.pods.create({ clientId: 'unique' })), '409 client_id_taken')
    const change = client.pods.update(other.id, { clientId: 'unique' })
    assert.equal(await refusal(change), '409 client_id_taken')
    await client.pods.update(other.id, { clientId: 'other' })
    await (await world.newAccount()).client.pods.create({ clientId: 'unique' })
    await client.pods.create({ clientId: 'UNIQUE' })
  })

  test('one of twenty pods created at once with one clientId is created', async () => {
    const before = (await client.pods.list().page()).total
    const create = () => client.pods.create({ clientId: 'contested' })
    const outcomes = await countOutcomes(Array.from({ length: 20 }, create))
    assert.deepEqual(outcomes, { done: 1, '409 client_id_taken': 19 })
    assert.equal((await client.pods.list().page()).total, before + 1)
  })

  test('one of twenty pods that get one clientId at once has it', async () => {
    const pods = await repeat(20, () => client.pods.create())
    const outcomes = await countOutcomes(
      pods.map(({ id }) => client.pods.update(id, { clientId: 'contested too' })),
    )
    assert.deepEqual(outcomes, { done: 1, '409 client_id_taken': 19 })
  })

  test('null clears a field, a missing field changes nothing, and a cleared clientId is free again', async () => {
    const pod = await client.pods.create({ clientId: 'clearable', name: 'Clearable' })
    assert.deepEqual(await client.pods.update(pod.id, {}), pod)
    const cleared = await client.pods.update('clearable', { clientId: null })
    assert.deepEqual(cleared, { ...pod, clientId: null })
    assert.equal((await client.pods.update(pod.id, { name: null })).name, null)
    await client.pods.create({ clientId: 'clearable' })
  })

  test('a clientId is 1 to 255 code points without a slash, dot segments or the form of a pod id', async () => {
    const good = [
      'x',
      'y'.repeat(255),
      '🙂'.repeat(255),
      'pod_short',
      'POD_01h455vb4pex5vsknk084sn02q',
      '...',
      '.a',
      ' ',
    ]
    for (const clientId of good) {
      assert.equal((await client.pods.create({ clientId })).clientId, clientId)
    }
    const bad = [
      '',
      'y'.repeat(256),
      '🙂'.repeat(256),
      '.',
      '..',
      'a/b',
      'a\nb',
      'a\0',
      'pod_01h455vb4pex5vsknk084sn02q',
      5,
      {},
    ]
    for (const clientId of bad) {
      const error = await refusalOf(client.pods.create({ clientId } as never))
      assert.equal(error.status, 400, JSON.stringify(clientId))
    }
    assert.equal((await client.pods.create({ clientId: null } as never)).clientId, null)
  })

  test('a pod with inboxes or domains is not deleted', async () => {
    const pod = await client.pods.create({ clientId: 'full' })
    const inbox = await client.inboxes.create({ podId: 'full' })
    assert.equal(await refusal(client.pods.delete('full')), '409 pod_not_empty')
    await client.inboxes.delete(inbox.id)
    await addDomain(world, pod.id)
    assert.equal(await refusal(client.pods.delete('full')), '409 pod_has_domains')
    await runSql(world, `delete from domains where pod_id = '${pod.id}'`)
    await runSql(world, `update pods set domain_count = 0 where id = '${pod.id}'`)
    await client.pods.delete('full')
    assert.equal(await refusal(client.pods.delete('full')), '404 not_found')
  })

  test('no inbox is ever in a deleted pod', async () => {
    for (let round = 0; round < 20; round++) {
      const pod = await client.pods.create()
      const creation = client.inboxes.create({ podId: pod.id })
      const deletion = client.pods.delete(pod.id)
      const [made, deleted] = await Promise.allSettled([creation, deletion])
      assert.notEqual(made.status, deleted.status)
      const refused = made.status === 'rejected' ? creation : deletion
      const code = made.status === 'rejected' ? '400 invalid_pod' : '409 pod_not_empty'
      assert.equal(await refusal(refused), code)
    }
    const orphans = await runSql(
      world,
      'select id from inboxes where pod_id not in (select id from pods)',
    )
    assert.deepEqual(orphans, [])
  })

  test('the total of pods stays right under concurrent changes', async () => {
    const { client } = await world.newAccount()
    const pods = await repeat(20, () => client.pods.create())
    await Promise.all(pods.flatMap(({ id }) => [client.pods.delete(id), client.pods.create()]))
    const { data, total } = await client.pods.list().page()
    assert.equal(total, 21)
    assert.equal(data.length, 21)
  })
})

async function addDomain(world: World, podId: string): Promise<void> {
  const account = world.accountId
  await runSql(
    world,
    `insert into domains (id, account_id, pod_id, domain, status, created_at)
     values ('dom_test', '${account}', '${podId}', 'scoped.example', 'pending', 1)`,
  )
  await runSql(world, `update pods set domain_count = 1 where id = '${podId}'`)
}
