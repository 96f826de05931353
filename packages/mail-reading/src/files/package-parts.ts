// The parts of an Office Open XML package and their relationships (ECMA-376 part 2).

import { FileFault } from './file-text.ts'
import { readXml } from './read-xml.ts'
import type { ZipFile } from './zip-file.ts'

export type Relationship = { readonly type: string; readonly target: string }

/** Relationships by id, with part names as targets. External relationships are omitted. */
export function relationshipsOf(zip: ZipFile, part: string): Map<string, Relationship> {
  const slash = part.lastIndexOf('/')
  const folder = part.slice(0, slash + 1)
  const name = `${folder}_rels/${part.slice(slash + 1)}.rels`
  const found = new Map<string, Relationship>()
  if (!zip.has(name)) return found
  readXml(zip, name, {
    open({ name: element, attribute }) {
      if (element !== 'Relationship' || attribute('TargetMode') === 'External') return
      const [id, type, target] = [attribute('Id'), attribute('Type'), attribute('Target')]
      if (id === null || type === null || target === null) return
      found.set(id, {
        type: type.slice(type.lastIndexOf('/') + 1),
        target: resolve(folder, target),
      })
    },
  })
  return found
}

/** The usual main parts, for files without package relationships. */
const USUAL_MAIN_PARTS = ['word/document.xml', 'xl/workbook.xml', 'ppt/presentation.xml']

/** The main part of the package; null if it is not a document. */
export function mainPartOf(zip: ZipFile): string | null {
  for (const { type, target } of relationshipsOf(zip, '').values()) {
    if (type === 'officeDocument' && zip.has(target)) return target
  }
  const usual = USUAL_MAIN_PARTS.find((part) => zip.has(part))
  if (usual !== undefined) return usual
  if (zip.has('[Content_Types].xml')) throw new FileFault('failed', 'It is damaged or incomplete.')
  return null
}

function resolve(folder: string, target: string): string {
  if (target.startsWith('/')) return target.slice(1)
  const names = folder.split('/').slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '.') names.push(name)
  }
  return names.join('/')
}
