// Writing the files of this repository that are made of its tables. For contributors; a test fails
// while one of them is not current.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderEventKindsPage } from '@mailroom/contract/event-kinds.ts'
import { sdkRoutesSource } from '@mailroom/contract/sdk-source.ts'
import { renderConfigurationPage } from '#config/describe-settings.ts'

const repository = fileURLToPath(new URL('../../../../', import.meta.url))

/** Writes the generated pages of `docs` and the SDK's table of routes. */
export function generate(): void {
  const files = {
    'docs/configuration.md': renderConfigurationPage(),
    'docs/event-kinds.md': renderEventKindsPage(),
    'packages/sdk/src/routes.ts': sdkRoutesSource(),
  }
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(`${repository}${path}`, text)
    process.stdout.write(`wrote ${path}\n`)
  }
}
