// Writes the generated files of this repository. A test fails if one is out of date.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderEventKindsPage } from '@mailroom/contract/event-kinds.ts'
import { pythonSources } from '@mailroom/contract/python-source.ts'
import { sdkRoutesSource } from '@mailroom/contract/sdk-source.ts'
import { LIMIT_SETTINGS, SETTINGS, type Setting } from '#config/settings.ts'

const repository = fileURLToPath(new URL('../../../../', import.meta.url))

const PYTHON_SDK = 'packages/sdk-python/src/mailroom/'

export function generate(): void {
  const files = {
    'docs/configuration.md': renderConfigurationPage(),
    'docs/event-kinds.md': renderEventKindsPage(),
    'packages/sdk/src/routes.ts': sdkRoutesSource(),
    ...Object.fromEntries(
      Object.entries(pythonSources()).map(([name, text]) => [`${PYTHON_SDK}${name}`, text]),
    ),
  }
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(`${repository}${path}`, text)
    process.stdout.write(`wrote ${path}\n`)
  }
}

export function renderConfigurationPage(): string {
  return `# Configuration

<!-- Made by \`npm run generate\` from packages/server/src/config/settings.ts; do not edit. -->

Settings are environment variables. The service also reads them from a file \`.env\` in the working
directory; the environment takes precedence. An empty value counts as not set, and an empty variable hides
the value in the file.

You can keep a secret in its own file: \`MAILROOM_SECRET_KEY_FILE\` names the file with the value of
\`MAILROOM_SECRET_KEY\`, and every other setting marked secret works the same way. Surrounding white space
is removed.

With an invalid setting the service does not start; it lists every mistake with the name of its setting. An
unknown name that begins with \`MAILROOM_\` causes a warning that names the nearest setting.

${renderTable(Object.values(SETTINGS))}

## Limits

Each is a whole number of at least 1, unless stated otherwise. A request over a limit gets 429 with \`Retry-After\` and has no effect.

${renderTable(Object.values(LIMIT_SETTINGS))}

The value of a setting marked secret is never written to a log or a message.

## Example

\`\`\`sh
# .env of a service on the Internet
MAILROOM_HTTP_HOST=0.0.0.0
MAILROOM_SMTP_HOST=0.0.0.0
MAILROOM_SMTP_PORT=25
MAILROOM_PUBLIC_URL=https://mail.example.com
MAILROOM_INBOX_DOMAIN=agents.example.com
MAILROOM_SMTP_HOSTNAME=mx.example.com
MAILROOM_TLS_CERT=/etc/mailroom/tls/fullchain.pem
MAILROOM_TLS_KEY=/etc/mailroom/tls/key.pem
MAILROOM_DATA_DIR=/var/lib/mailroom
\`\`\`
`
}

function renderTable(settings: readonly Setting<unknown>[]): string {
  const rows = settings.map((setting) => {
    const isLiteral = setting.default === setting.defaultMeaning
    const fallback = isLiteral ? `\`${setting.default}\`` : setting.defaultMeaning
    const secret = setting.isSecret ? ' Secret.' : ''
    return `| \`${setting.name}\` | ${fallback} | ${setting.sentence}${secret} | ${setting.form.expected} |`
  })
  return ['| Setting | Default | Meaning | Form |', '|---|---|---|---|', ...rows].join('\n')
}
