// A place that is none.

import { paths } from '#data/paths.ts'
import { ButtonLink } from '#parts/button.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'

export function MissingPage() {
  return (
    <Page title="Not found">
      <Empty
        icon="search"
        title="There is no such page"
        actions={<ButtonLink href={paths.overview}>Go to the overview</ButtonLink>}
      >
        It may have been moved, or the address was cut off.
      </Empty>
    </Page>
  )
}
