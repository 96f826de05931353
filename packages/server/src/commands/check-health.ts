// Health checks for container engines and rolling updates.

import { get } from 'node:http'
import { healthPath } from '#operating/operating.ts'
import { CommandFailure, loadSettings } from './command.ts'

/** A busy process answers within a second, and engines repeat the check before they act. */
const ANSWER_MS_MAX = 5_000
const ANSWER_LENGTH_MAX = 1_000

/** With `ready`, the service must also accept requests and mail. Throws the reason otherwise. */
export async function checkHealth(options: { ready?: boolean }): Promise<void> {
  const { dataDir } = loadSettings().settings
  await askHealth(dataDir, options)
  process.stdout.write('The service answers.\n')
}

/** Throws for any answer but 200, and if no service answers. */
export function askHealth(dataDir: string, { ready = false }: { ready?: boolean }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const path = ready ? '/ready' : '/health'
  const request = get({ socketPath: healthPath({ dataDir }), path, agent: false })
  // The timer bounds the complete answer, including its body.
  const timer = setTimeout(
    () => request.destroy(new Error('it did not answer in time')),
    ANSWER_MS_MAX,
  )
  request.on('response', (response) => {
    let answer = ''
    response.setEncoding('utf8').on('data', (text: string) => {
      answer = (answer + text).slice(0, ANSWER_LENGTH_MAX)
    })
    response.on('end', () => {
      if (response.statusCode === 200) resolve()
      else reject(new CommandFailure(answer))
    })
  })
  const fail = ({ message }: Error) =>
    reject(new CommandFailure(`no service answers for ${dataDir}: ${message}.`))
  request.on('error', fail)
  request.on('response', (response) => response.on('error', fail))
  return promise.finally(() => clearTimeout(timer))
}
