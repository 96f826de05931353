// What a request is told that reached no route.

import { AppError, notFound } from '#platform/problem.ts'
import { methodsOf, type PathVisibility } from './known-paths.ts'

type HeaderWriter = { header(name: string, value: string): unknown }

/** `method_not_allowed`, with the Allow header on the answer, where the path has others; else `not_found`. */
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
