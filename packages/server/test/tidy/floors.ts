// The floors of the server, and which folder may import what.

import { edgesWhere } from './imports.ts'
import type { Finding, SourceFile } from './source-file.ts'

/** From the lowest to the highest. `app` means the files that are in no folder. */
const FLOORS = [
  'config platform',
  'schema queue rate-limits',
  'http secrets accounts domains inboxes webhooks events',
  'parser mailbox search stats attachment-texts',
  'inbound policy outbound reviews drafts delivery streams transfers sandbox removal erasures',
  'api commands operating wiring app',
].map((folders) => folders.split(' '))

/** All files of these folders may be imported. */
const WITHOUT_FRONT = /^(config|platform|schema|queue|http|wiring|commands|app)$/

/** `F/F.ts` and `F/F-rows.ts`: what other folders may import of a folder F. */
export const FRONT_FILE = /^packages\/server\/src\/([a-z-]+)\/\1(-rows)?\.ts$/

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
