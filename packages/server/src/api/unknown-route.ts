import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { MCP_PATH, WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import { AppError, notFound } from '#platform/problem.ts'
import { SITE_PATHS } from './site-files.ts'

type HeaderWriter = { header(name: string, value: string): unknown }

/** Sets the Allow header on `method_not_allowed`. */
export function unknownRoute(
  url: string,
  reply: HeaderWriter,
  visibility: PathVisibility,
): AppError {
  const methods = methodsOf(url, visibility)
  if (methods.length === 0) return notFound()
  const allow = methods.join(', ')
  reply.header('allow', allow)
  return new AppError('method_not_allowed', `This path allows ${allow}.`)
}

const operations = operationIds.map((id) => {
  const { method, path, auth, isOfSandbox = false } = operationOf(id)
  return { method, segments: path.split('/'), isOperators: auth === 'operator', isOfSandbox }
})

const others = [
  ['POST', MCP_PATH] as const,
  ...[WEB_SOCKET_PATH, ...SITE_PATHS].map((path) => ['GET', path] as const),
].map(([method, path]) => ({
  method,
  segments: path.split('/'),
  isOperators: false,
  isOfSandbox: false,
}))
const templates = [...operations, ...others]

const CONSOLE = 'console'

export type PathVisibility = {
  readonly hidesOperators: boolean
  readonly hidesSandbox: boolean
  readonly showsConsole: boolean
}

function methodsOf(url: string, visibility: PathVisibility): string[] {
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

/** Decodes a segment like the router. A segment that cannot be decoded matches nothing. */
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
