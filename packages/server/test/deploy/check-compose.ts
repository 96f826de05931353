// Runs the services of a compose file as processes and does the main task through its two ports: an inbox, a message
// that arrives, one that is sent to it and back; then one process after the other is replaced.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mailroom } from '@mailroom/sdk'
import pg from 'pg'
import { startPostgres } from '#test/peers/postgres.ts'
import { openSender } from '#test/peers/sender.ts'
import { plainMail } from '#test/world.ts'
import type { Image } from './build-image.ts'
import { type Container, type Mount, mountedFile, startContainer } from './container.ts'
import {
  type Compose,
  type ComposeService,
  environmentOf,
  readCompose,
  startOrder,
} from './read-compose.ts'

export type CheckOptions = {
  readonly root: string
  readonly scratch: string
  readonly image: Image
  tell(text: string): void
}

/** Each network is a loopback address here, at which its processes listen. */
const ADDRESSES = { postgres: '127.77.0.1', front: '127.77.0.2' }
const READY_MS_MAX = 120_000
const PORTS = { http: 8080, smtp: 2525 }

/** Throws at the first step that fails. */
export async function checkCompose(options: CheckOptions, file: string): Promise<void> {
  const folder = join(options.scratch, file)
  mkdirSync(folder)
  cpSync(join(options.root, 'deploy'), join(folder, 'deploy'), {
    recursive: true,
    filter: (path) => !/\/(secrets|tls|mailroom\.env)$/.test(path),
  })
  execFileSync('sh', ['deploy/make-secrets.sh'], { cwd: folder })
  const compose = readCompose(readFileSync(join(options.root, file), 'utf8'))
  const project = new Project(compose, folder, options)
  const postgres = compose.services.postgres ? await standInForPostgres(compose, folder) : null
  try {
    await project.up()
    await doMainTask(project, options)
    if (postgres !== null) await replaceEach(project, options)
  } catch (error) {
    for (const { name, output } of project.running) options.tell(`${name}:\n${output()}`)
    throw error
  } finally {
    await project.down()
    await postgres?.stop()
  }
}

class Project {
  readonly running: Container[] = []
  readonly #compose: Compose
  readonly #folder: string
  readonly #options: CheckOptions
  #count = 0

  constructor(compose: Compose, folder: string, options: CheckOptions) {
    this.#compose = compose
    this.#folder = folder
    this.#options = options
  }

  get client(): Mailroom {
    const { file = '' } = this.#compose.secrets.api_key ?? {}
    const apiKey = readFileSync(join(this.#folder, file), 'utf8').trim()
    return new Mailroom({ baseUrl: `http://${ADDRESSES.front}:${PORTS.http}`, apiKey })
  }

  async up(): Promise<void> {
    for (const name of startOrder(this.#compose)) {
      const service = this.#compose.services[name]
      if (service === undefined || name === 'postgres') continue
      await this.start(name)
    }
  }

  /** Starts one process of it and waits until it is healthy or, if it should end, has ended with success. */
  async start(name: string): Promise<Container> {
    const service = this.#compose.services[name]
    if (service === undefined) throw new Error(`no service ${name}`)
    const container = startContainer(name, this.#optionsOf(service))
    this.running.push(container)
    if (service.restart === 'no') {
      assert.equal(await container.ended, 0, `${name}: ${container.output()}`)
      this.running.splice(this.running.indexOf(container), 1)
    } else if (service.healthcheck?.disable !== true) await this.#untilHealthy(container)
    this.#options.tell(`${name} is ${service.restart === 'no' ? 'done' : 'up'}`)
    return container
  }

  async stop(container: Container): Promise<void> {
    container.process.kill('SIGTERM')
    const code = await container.ended
    this.running.splice(this.running.indexOf(container), 1)
    assert.equal(code, 0, `${container.name} ended with ${code}: ${container.output()}`)
  }

  async down(): Promise<void> {
    for (const { process } of this.running) process.kill('SIGKILL')
    await Promise.all(this.running.map(({ ended }) => ended))
  }

  #optionsOf(service: ComposeService): Parameters<typeof startContainer>[1] {
    const { image, scratch } = this.#options
    const id = this.#count++
    const network = service.network_mode === 'service:front' || service.ports !== undefined
    const address = network ? ADDRESSES.front : `127.77.1.${id + 1}`
    // A named volume is the one of the image.
    const state = join(this.#folder, `volume-${id}`)
    mkdirSync(state)
    execFileSync('chown', [image.user, state])
    const hosts = Object.entries(ADDRESSES).map(([host, ip]) => `${ip} ${host}\n`)
    const mounts: Mount[] = [
      ...image.volumes.map((to) => ({ from: state, to })),
      {
        from: mountedFile(join(scratch, 'hosts'), hosts.join('')),
        to: '/etc/hosts',
        isReadOnly: true,
      },
      ...(service.secrets ?? []).map((secret) => ({
        from: join(this.#folder, this.#compose.secrets[secret]?.file ?? ''),
        to: `/run/secrets/${secret}`,
        isReadOnly: true,
      })),
      ...(service.volumes ?? []).flatMap((volume) => {
        const [from = '', to = '', mode] = volume.split(':')
        if (!from.startsWith('./')) return []
        return [{ from: join(this.#folder, from), to, isReadOnly: mode === 'ro' }]
      }),
    ]
    return {
      layers: image.layers,
      scratch,
      args: [
        ...(service.entrypoint ?? image.entrypoint),
        ...(service.entrypoint ? [] : (service.command ?? image.command)),
      ],
      env: {
        ...image.env,
        ...environmentOf(service, this.#folder),
        // In a network of its own these would be all its addresses.
        MAILROOM_HTTP_HOST: address,
        MAILROOM_SMTP_HOST: address,
        MAILROOM_METRICS_HOST: address,
      },
      folder: image.folder,
      user: image.user,
      isReadOnly: service.read_only === true,
      mounts,
    }
  }

  async #untilHealthy(container: Container): Promise<void> {
    const { health } = this.#options.image
    if (health === null) throw new Error('the image has no HEALTHCHECK')
    const deadlineMs = performance.now() + READY_MS_MAX
    for (;;) {
      const { code, output } = await container.execute(health)
      if (code === 0) return
      if (container.process.exitCode !== null) throw new Error(`${container.name} has ended`)
      if (performance.now() > deadlineMs)
        throw new Error(`${container.name} is unhealthy: ${output}`)
      await sleep(250)
    }
  }
}

/** The database of the tests, under the name, port, user and password of the file. */
async function standInForPostgres(compose: Compose, folder: string) {
  const cluster = await startPostgres()
  const { POSTGRES_USER: user, POSTGRES_DB: database } =
    compose.services.postgres?.environment ?? {}
  const file = compose.secrets.postgres_password?.file ?? ''
  const password = readFileSync(join(folder, file), 'utf8').trim()
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  const [role, name] = [String(user), String(database)].map((text) => client.escapeIdentifier(text))
  await client.query(`create role ${role} login password ${client.escapeLiteral(password)}`)
  await client.query(`create database ${name} owner ${role}`)
  await client.end()
  const { port, hostname } = new URL(cluster.url)
  const forwarder = createServer((socket) => {
    const other = connect({ host: hostname, port: Number(port) })
    socket.pipe(other).pipe(socket)
    socket.on('error', () => other.destroy())
    other.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    forwarder.once('error', reject).listen(5432, ADDRESSES.postgres, resolve)
  })
  return {
    async stop() {
      forwarder.close()
      await cluster.stop()
    },
  }
}

async function arrive(address: string, subject: string): Promise<void> {
  const sender = await openSender(PORTS.smtp, ADDRESSES.front)
  const { code, lines } = await sender.send({
    to: address,
    raw: plainMail({ to: address, subject }),
  })
  assert.equal(code, 250, lines.join('\n'))
  await sender.quit()
}

async function subjectsOf(client: Mailroom, inboxId: string): Promise<string[]> {
  const { data } = await client.messages.list(inboxId).page()
  return data.map(({ subject }) => subject ?? '').sort()
}

async function doMainTask(project: Project, { tell }: CheckOptions): Promise<void> {
  const { client } = project
  const [one, two] = [await client.inboxes.create(), await client.inboxes.create()]
  await arrive(one.address, 'received')
  assert.deepEqual(await subjectsOf(client, one.id), ['received'])
  tell(`a message to ${one.address} was received and read`)
  await client.inboxes.send(two.id, { to: one.address, subject: 'sent', body: 'A body.' })
  const deadlineMs = performance.now() + READY_MS_MAX
  while ((await subjectsOf(client, one.id)).length < 2) {
    assert.ok(performance.now() < deadlineMs, 'the message that was sent did not arrive')
    await sleep(100)
  }
  tell('a message was sent and arrived')
}

/** As in an upgrade: one after the other, while another of the same kind answers. */
async function replaceEach(project: Project, { tell }: CheckOptions): Promise<void> {
  const { client } = project
  const inbox = await client.inboxes.create()
  const old = project.running.filter(({ name }) => name !== 'front')
  for (const [index, container] of old.entries()) {
    await project.stop(container)
    await arrive(inbox.address, `without ${index}`)
    await client.inboxes.get(inbox.id)
    await project.start(container.name)
  }
  assert.equal((await subjectsOf(client, inbox.id)).length, old.length)
  for (const container of [...project.running]) {
    if (container.name !== 'front') await project.stop(container)
  }
  tell('each process was replaced by a new one, and all ended with 0')
}
