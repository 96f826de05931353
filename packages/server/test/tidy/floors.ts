// The floors of the server, and which folder may import what.

import { edgesWhere } from './imports.ts'
import type { Finding, SourceFile } from './source-file.ts'

/** From the lowest to the highest. `app` means the files that are in no folder. */
const FLOORS = [
  'config platform',
  'store queue limits',
  'http secrets accounts domains inboxes webhooks events',
  'parser mailbox search stats',
  'inbound policy outbound reviews drafts delivery streams transfers uploads sandbox removal erasures oauth',
  'api commands operating app',
].map((folders) => folders.split(' '))

/** All files of these folders may be imported. */
const WITHOUT_FRONT = /^(config|platform|store|queue|limits|http|commands|app)$/

/** What other folders may import of a folder F or its room R: `F/F.ts`, `F/model.ts`, `F/store/…`, `F/R/R.ts`, `F/R/store/…`. */
export const FRONT_FILE =
  /^packages\/server\/src\/([\w-]+)\/(?:\1\.ts|model\.ts|store\/[\w-]+\.ts|([\w-]+)\/(?:\2\.ts|store\/[\w-]+\.ts))$/

export const isFeatureFront = (path: string) =>
  FRONT_FILE.test(path) && !WITHOUT_FRONT.test(folderOf(path))

/** A folder imports the fronts of the folders on its own floor and on those below. */
export function findFloorBreaches(files: readonly SourceFile[]): Finding[] {
  return edgesWhere(files, ({ specifier }, { path }) => {
    const from = folderOf(path)
    if (floorOf(from) < 0) return `${from} is on no floor`
    if (!specifier.startsWith('#')) return null
    const target = `packages/server/src/${specifier.slice(1)}`
    const to = folderOf(target)
    if (to === from) return null
    if (floorOf(to) > floorOf(from)) return `${from} is on a floor below ${to}`
    const isPermitted = WITHOUT_FRONT.test(to) || FRONT_FILE.test(target)
    return isPermitted ? null : `${specifier} is no front of ${to}`
  })
}

const folderOf = (path: string) => /^packages\/server\/src\/([\w-]+)\//.exec(path)?.[1] ?? 'app'
const floorOf = (folder: string) => FLOORS.findIndex((folders) => folders.includes(folder))
