// The page about configuration, made from the table of settings, so that it cannot go stale.

import type { Setting } from './setting.ts'
import { LIMIT_SETTINGS, SETTINGS } from './settings.ts'

/** The whole text of `docs/configuration.md`. */
export function renderConfigurationPage(): string {
  return `# Configuration

<!-- Made by \`npm run generate\` from packages/server/src/config/settings.ts; do not edit. -->

Settings are environment variables. They are also read from a file \`.env\` in the working directory;
where both name a setting, the environment wins. An empty value counts as not given, and an empty one
in the environment hides the file's.

A secret may lie in a file of its own: \`MAILROOM_SECRET_KEY_FILE\` names the file that holds what
\`MAILROOM_SECRET_KEY\` would, and so of every setting marked secret. Spaces and line ends around it are
taken off.

At start every mistake is listed with the setting's name, and the service does not start. An unknown
name that begins with \`MAILROOM_\` is a warning that names the nearest setting.

${renderTable(Object.values(SETTINGS))}

## Limits

Each is a whole number from 1. A request over a limit is answered 429 with \`Retry-After\` and has no
effect.

${renderTable(Object.values(LIMIT_SETTINGS))}

The value of a setting marked secret is never written to a log or a message.

## Example

\`\`\`sh
# .env of a service that is reachable from the internet
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
