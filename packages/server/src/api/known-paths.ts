// Which methods a path has, for telling "no such route" from "not with this method".

import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { MCP_PATH, WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'

const operations = operationIds.map((id) => {
  const { method, path, auth, isOfSandbox = false } = operationOf(id)
  return { method, segments: path.split('/'), isOperators: auth === 'operator', isOfSandbox }
})

/** No operations of the contract. */
const others = [
  { method: 'GET', segments: WEB_SOCKET_PATH.split('/'), isOperators: false, isOfSandbox: false },
  { method: 'POST', segments: MCP_PATH.split('/'), isOperators: false, isOfSandbox: false },
]
const templates = [...operations, ...others]

const CONSOLE = 'console'

export type PathVisibility = {
  /** Whether the operator's routes are to look like no routes. */
  readonly hidesOperators: boolean
  /** Whether those of the sandbox are. */
  readonly hidesSandbox: boolean
  /** Whether there is a console, to which the root and every path below its own belong. */
  readonly showsConsole: boolean
}

/** Methods of the path of a URL, in alphabetical order; empty when no operation has the path. */
export function methodsOf(url: string, visibility: PathVisibility): string[] {
  const { hidesOperators, hidesSandbox } = visibility
  const segments = (url.split(/[?#]/, 1)[0] ?? '').split('/').map(decoded)
  const methods = new Set<string>()
  const isRoot = segments.length === 2 && segments[1] === ''
  if (visibility.showsConsole && (isRoot || segments[1] === CONSOLE)) return ['GET', 'HEAD']
  for (const template of templates) {
    if (hidesOperators && template.isOperators) continue
    if (hidesSandbox && template.isOfSandbox) continue
    if (!isMatch(template.segments, segments)) continue
    methods.add(template.method)
    if (template.method === 'GET') methods.add('HEAD')
  }
  return [...methods].sort()
}

/** As the router reads it; one that cannot be decoded is no name of ours. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function isMatch(template: readonly string[], segments: readonly string[]): boolean {
  if (template.length !== segments.length) return false
  return template.every((part, index) =>
    part.startsWith('{') ? segments[index] !== '' : part === segments[index],
  )
}
