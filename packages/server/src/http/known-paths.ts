// Which methods a path has, for telling "no such route" from "not with this method".

import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'

const operations = operationIds.map((id) => {
  const { method, path, auth, isOfSandbox = false } = operationOf(id)
  return { method, segments: path.split('/'), isOperators: auth === 'operator', isOfSandbox }
})

/** The WebSocket is no operation of the contract. */
const socket = { method: 'GET', segments: WEB_SOCKET_PATH.split('/') }
const templates = [...operations, { ...socket, isOperators: false, isOfSandbox: false }]

export type PathVisibility = {
  /** Whether the operator's routes are to look like no routes. */
  readonly hidesOperators: boolean
  /** Whether those of the sandbox are. */
  readonly hidesSandbox: boolean
}

/** Methods of the path of a URL, in alphabetical order; empty when no operation has the path. */
export function methodsOf(url: string, visibility: PathVisibility): string[] {
  const { hidesOperators, hidesSandbox } = visibility
  const segments = (url.split(/[?#]/, 1)[0] ?? '').split('/').map(decoded)
  const methods = new Set<string>()
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
