// The source text of the SDK's table of routes: what it needs of the contract at run time.

import { operationIds, operationOf } from './operations.ts'

const LINE_LENGTH_MAX = 100

/** TypeScript, formatted as the house formats it. */
export function sdkRoutesSource(): string {
  const lines = operationIds.map((id) => {
    const { method, path } = operationOf(id)
    const line = `  '${id}': { method: '${method}', path: '${path}' },`
    if (line.length <= LINE_LENGTH_MAX) return line
    return `  '${id}': {\n    method: '${method}',\n    path: '${path}',\n  },`
  })
  return `// Method and path of every operation. Generated from the contract: npm run generate.

export const routes = {
${lines.join('\n')}
} as const
`
}
