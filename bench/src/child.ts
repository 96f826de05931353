// Child processes of the benchmarks: servers under test and load generators.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Runs a neighbouring module and returns the JSON that it prints. */
export async function runToEnd<Value>(module: string, input: object): Promise<Value> {
  const child = spawn(process.execPath, [`${folder}${module}`, JSON.stringify(input)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${module} ended with ${code}`)
  return JSON.parse(text) as Value
}

/**
 * Starts a server module, with `flags` for the runtime, and waits for the line of JSON that it
 * prints once it is listening.
 */
export async function startServer<Value>(
  path: string,
  options: { env?: Record<string, string>; arguments?: string[]; flags?: string[] } = {},
): Promise<{ hello: Value; child: ChildProcess; stop(): Promise<void> }> {
  const file = path.includes('/') ? path : `${folder}${path}`
  const words = [...(options.flags ?? []), file, ...(options.arguments ?? [])]
  const child = spawn(process.execPath, words, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...options.env },
  })
  const [first] = (await once(child.stdout, 'data')) as [Buffer]
  child.stdout.resume()
  return {
    hello: JSON.parse(first.toString('utf8').split('\n')[0] ?? '') as Value,
    child,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
