// The OpenAPI document as a reader takes it: what stands under `components` in the place that refers to it.

import { openApiDocument } from '@mailroom/contract/openapi.ts'

export const written = JSON.parse(
  JSON.stringify(openApiDocument({ publicUrl: 'https://mail.example' })),
)

/** With shared parameters, responses and examples in their places; schemas and headers stay references. */
export const document = { ...expand(written), components: written.components }

// biome-ignore lint/suspicious/noExplicitAny: a document of JSON, of which tests read this and that.
function expand(value: any): any {
  if (Array.isArray(value)) return value.map(expand)
  if (typeof value !== 'object' || value === null) return value
  const [, section, name] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref ?? '') ?? []
  if (section === 'parameters' || section === 'responses' || section === 'examples') {
    return expand(written.components[section][name ?? ''])
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner)]))
}
