import type { Auth } from '@mailroom/contract/operation.ts'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { MCP_PATH, WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import { editDistance } from '#config/nearest.ts'
import { OAUTH_PATHS } from '#oauth/oauth.ts'
import { AppError, problem } from '#platform/problem.ts'
import { CLIENT_PATHS } from './clients.ts'
import { SITE_PATHS } from './site-files.ts'

type HeaderWriter = { header(name: string, value: string): unknown }

/** Sets the Allow header on `method_not_allowed`. */
export function unknownRoute(
  { url = '', method = '' }: { url?: string | undefined; method?: string | undefined },
  reply: HeaderWriter,
  visibility: PathVisibility,
): AppError {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  const methods = methodsOf(path, visibility)
  if (methods.length === 0) return noRoute(method, path, visibility)
  const allow = methods.join(', ')
  reply.header('allow', allow)
  return new AppError('method_not_allowed', `This path allows ${allow}.`)
}

const SHOWN_PATH_LENGTH = 200

function noRoute(method: string, path: string, visibility: PathVisibility): AppError {
  const nearest = findNearestPath(path.split('/'), visibility)
  const shown = path.slice(0, SHOWN_PATH_LENGTH).replaceAll(/[^!-~]/g, '?')
  return problem('not_found', `There is no route ${method} ${shown}.`, {
    fix:
      nearest === null
        ? 'Use a route from GET /openapi.json.'
        : `Did you mean ${nearest}? GET /openapi.json has all routes.`,
  })
}

const operations = operationIds.map((id) => {
  const { method, path, auth, isOfSandbox = false } = operationOf(id)
  return { method, segments: path.split('/'), auth, isOfSandbox }
})

const others = [
  ['POST', MCP_PATH] as const,
  ...[WEB_SOCKET_PATH, ...SITE_PATHS, ...CLIENT_PATHS].map((path) => ['GET', path] as const),
  ...OAUTH_PATHS,
].map(([method, path]) => ({
  method,
  segments: path.split('/'),
  auth: 'none' as const,
  isOfSandbox: false,
}))
const templates = [...operations, ...others]

const CONSOLE = 'console'

export type PathVisibility = {
  readonly hidesOperators: boolean
  readonly hidesSandbox: boolean
  readonly showsConsole: boolean
}

export function isHidden(
  operation: { auth: Auth; isOfSandbox?: boolean } | undefined,
  { hidesOperators, hidesSandbox }: PathVisibility,
): boolean {
  if (operation === undefined) return false
  return (
    (hidesOperators && operation.auth === 'operator') ||
    (hidesSandbox && operation.isOfSandbox === true)
  )
}

function methodsOf(path: string, visibility: PathVisibility): string[] {
  const segments = path.split('/').map(decoded)
  const methods = new Set<string>()
  const isRoot = segments.length === 2 && segments[1] === ''
  if (visibility.showsConsole && (isRoot || segments[1] === CONSOLE)) return ['GET', 'HEAD']
  for (const template of templates) {
    if (isHidden(template, visibility)) continue
    if (!isMatch(template.segments, segments)) continue
    methods.add(template.method)
    if (template.method === 'GET') methods.add('HEAD')
  }
  return [...methods].sort()
}

const TYPOS_MAX = 2

/** The path with the fewest typos, if it has few enough. Ids match any text. */
function findNearestPath(segments: readonly string[], visibility: PathVisibility): string | null {
  let nearest: string | null = null
  let fewest = TYPOS_MAX + 1
  for (const template of templates) {
    if (isHidden(template, visibility) || template.segments.length !== segments.length) continue
    const typos = typosIn(template.segments, segments)
    if (typos >= fewest) continue
    nearest = template.segments.join('/')
    fewest = typos
  }
  return nearest
}

function typosIn(template: readonly string[], segments: readonly string[]): number {
  let typos = 0
  for (const [index, part] of template.entries()) {
    const segment = segments[index] ?? ''
    if (part.startsWith('{') || part === segment) continue
    // A length that differs by more needs no comparison.
    const isFar = Math.abs(part.length - segment.length) > TYPOS_MAX
    typos += isFar ? TYPOS_MAX + 1 : editDistance(segment, part)
  }
  return typos
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
