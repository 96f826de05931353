// The page for unknown addresses.

import { paths } from '#data/paths.ts'
import { ButtonLink } from '#parts/button.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'

export function MissingPage() {
  return (
    <Page title="Not found">
      <Empty
        icon="search"
        title="Page not found"
        actions={<ButtonLink href={paths.overview}>Go to overview</ButtonLink>}
      >
        The address may be wrong or incomplete.
      </Empty>
    </Page>
  )
}
