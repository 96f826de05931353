// Serves the clients of this version at /clients/, for machines without a checkout.

import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { problem } from '#platform/problem.ts'
import { type BuiltFile, type BuiltFiles, openBuiltFiles, sendFile } from './built-files.ts'

const SDK = 'mailroom-sdk.tgz'
const TOOLS = 'mailroom-tools.tgz'
const CLI = 'mailroom-cli.tgz'
/** pip accepts wheels only under their full name. This name is for programs without the version. */
const WHEEL = 'mailroom-python.whl'
const LIST = '/clients'

export const CLIENT_PATHS = [LIST, ...[SDK, TOOLS, CLI, WHEEL].map((name) => `${LIST}/${name}`)]

const BUILT = fileURLToPath(new URL('../../../clients/dist', import.meta.url))

/** Must be called once, before the server listens. */
export function addClients(app: FastifyInstance, publicUrl: () => string): void {
  const files = openBuiltFiles(BUILT)
  const method = ['GET', 'HEAD']
  for (const url of [LIST, `${LIST}/`]) {
    app.route({
      method,
      url,
      config: { shownPath: LIST },
      handler: async (_request, reply) =>
        reply
          .headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' })
          .send(installText(`${publicUrl()}${LIST}`, await findWheel())),
    })
  }
  app.route({
    method,
    url: `${LIST}/:name`,
    config: { shownPath: `${LIST}/{name}` },
    handler: async (request, reply) => {
      const { name } = request.params as { name: string }
      const file = await findClient(files, name)
      // Pages of any origin may load them: they are public.
      reply.header('cross-origin-resource-policy', 'cross-origin')
      return sendFile(request, reply, file)
    },
  })
}

async function findClient(files: BuiltFiles, name: string): Promise<BuiltFile> {
  const wheel = await findWheel()
  const known = [SDK, TOOLS, CLI, WHEEL, wheel]
  if (!known.includes(name)) {
    throw problem('not_found', 'There is no such client.', { fix: `GET ${LIST} lists them.` })
  }
  const file = await files.find(name === WHEEL ? wheel : name, [])
  if (file === null) throw problem('service_unavailable', NOT_BUILT)
  return file
}

async function findWheel(): Promise<string> {
  const names = await readdir(BUILT).catch(() => [])
  const wheel = names.find((name) => name.endsWith('.whl'))
  if (wheel === undefined) throw problem('service_unavailable', NOT_BUILT)
  return wheel
}

const NOT_BUILT = 'The clients are not built: run npm run build -w @mailroom/clients.'

function installText(base: string, wheel: string): string {
  const [distribution = ''] = wheel.split('-')
  const requirement = `${distribution.replaceAll('_', '-')}[async]`
  return [
    'TypeScript and JavaScript:',
    `  npm install ${base}/${SDK}`,
    'Tools for agent frameworks in TypeScript and JavaScript:',
    `  npm install ${base}/${SDK} ${base}/${TOOLS}`,
    'Command line and MCP over standard input and output:',
    `  npx --yes ${base}/${CLI} --help`,
    `  npm install --global ${base}/${CLI}`,
    'Python:',
    `  pip install '${requirement} @ ${base}/${wheel}'`,
    '',
  ].join('\n')
}
