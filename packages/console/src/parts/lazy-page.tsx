// A page whose script is loaded when it is first opened.

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Empty, Skeleton } from './notice.tsx'
import { Page } from './page.tsx'

export function lazyPage(load: () => Promise<ComponentType>): ComponentType {
  let Loaded: ComponentType | null = null
  return function LazyPage() {
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading')
    useEffect(() => {
      if (Loaded !== null) return
      let isLeft = false
      load().then(
        (page) => {
          Loaded = page
          if (!isLeft) setState('loaded')
        },
        () => {
          if (!isLeft) setState('failed')
        },
      )
      return () => {
        isLeft = true
      }
    }, [])
    if (Loaded !== null) return <Loaded />
    return state === 'failed' ? <FailedPage /> : <Skeleton label="Loading the page" />
  }
}

/** After an update of the service, scripts of an open page are gone, and only a reload helps. */
function FailedPage() {
  return (
    <Page title="Not loaded">
      <Empty
        icon="warning"
        title="This page could not be loaded"
        actions={
          <Button icon="refresh" onClick={() => location.reload()}>
            Reload the console
          </Button>
        }
      >
        The service cannot be reached, or it was updated since you opened the console.
      </Empty>
    </Page>
  )
}
