// What the published schemas require of the fields that our files use; other fields are refused, so that a new one is
// looked up first. Sources: https://www.schemastore.org/claude-code-marketplace.json,
// https://www.schemastore.org/claude-code-plugin-manifest.json, https://code.claude.com/docs/en/mcp and
// https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json.

const text = { type: 'string', minLength: 1 }
const texts = { type: 'array', items: { type: 'string' } }

function closed(properties: Readonly<Record<string, object>>, required: readonly string[]) {
  return { type: 'object', properties, required, additionalProperties: false }
}

function mapOf(value: object, names: string) {
  return { type: 'object', propertyNames: { pattern: names }, additionalProperties: value }
}

const author = closed({ name: text, email: text, url: text }, ['name'])
const about = { version: text, description: text, license: text, keywords: texts }

export const marketplaceSchema = closed(
  {
    name: text,
    description: text,
    owner: author,
    plugins: {
      type: 'array',
      items: closed(
        {
          ...about,
          name: text,
          category: text,
          // A path is relative to the root of the marketplace.
          source: { type: 'string', pattern: '^\\./' },
        },
        ['name', 'source'],
      ),
    },
  },
  ['name', 'owner', 'plugins'],
)

const option = closed(
  {
    type: { enum: ['string', 'number', 'boolean', 'directory', 'file'] },
    title: text,
    description: text,
    required: { type: 'boolean' },
    default: { type: ['string', 'number', 'boolean', 'array'] },
    sensitive: { type: 'boolean' },
  },
  ['type', 'title', 'description'],
)

export const pluginSchema = closed(
  {
    ...about,
    name: text,
    displayName: text,
    author,
    skills: { type: 'array', items: { type: 'string', pattern: '^\\./' } },
    userConfig: mapOf(option, '^[A-Za-z_]\\w*$'),
  },
  ['name'],
)

export const mcpFileSchema = closed(
  {
    mcpServers: mapOf(
      closed({ type: { const: 'http' }, url: text, headers: mapOf(text, '.') }, ['type', 'url']),
      '.',
    ),
  },
  ['mcpServers'],
)

const input = closed(
  {
    description: text,
    placeholder: text,
    default: text,
    isRequired: { type: 'boolean' },
    isSecret: { type: 'boolean' },
  },
  [],
)

export const serverSchema = closed(
  {
    $schema: {
      const: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    },
    name: { type: 'string', maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
    title: { ...text, maxLength: 100 },
    description: { ...text, maxLength: 100 },
    version: { ...text, maxLength: 255 },
    remotes: {
      type: 'array',
      items: closed(
        {
          type: { const: 'streamable-http' },
          url: { type: 'string', pattern: '^https?://[^\\s]+$' },
          variables: mapOf(input, '.'),
        },
        ['type', 'url'],
      ),
    },
  },
  ['name', 'description', 'version'],
)
