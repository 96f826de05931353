// The OpenAPI document as a reader sees it, with references to `components` resolved.

import { openApiDocument } from '@mailroom/contract/openapi.ts'

const text = JSON.stringify(
  openApiDocument({ publicUrl: 'https://mail.example', programVersion: '0.1.0' }),
)

export const written = JSON.parse(text)

/** With shared parameters, responses and examples in their places; schemas and headers stay references. */
export const document = { ...expanded(text), components: written.components }

function expanded(json: string) {
  return JSON.parse(json, (_key, value) => {
    const [, section, name] =
      /^#\/components\/(parameters|responses|examples)\/(.+)$/.exec(value?.$ref ?? '') ?? []
    if (section === undefined || name === undefined) return value
    return expanded(JSON.stringify(written.components[section][name]))
  })
}
