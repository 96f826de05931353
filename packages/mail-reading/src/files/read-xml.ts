// Streams the elements and text of an XML part. Builds no tree, resolves only the entities of XML
// itself, and loads nothing.

import { TextDecoder } from 'node:util'
import { SaxesParser } from 'saxes'
import { FILE_DEPTH_MAX, FileFault } from './file-text.ts'
import type { ZipFile } from './zip-file.ts'

export type XmlElement = {
  /** The local name of the element, without its prefix. */
  readonly name: string
  /** Finds the attribute by its name with the element's prefix, as written, or by local name. */
  attribute(name: string): string | null
  /** The prefixed attribute `id`, which names a relationship. */
  relation(): string | null
}

export type XmlReader = {
  open?(element: XmlElement): void
  close?(name: string): void
  text?(text: string): void
}

/** A file with more faults is not XML. */
const FAULTS_MAX = 100

/** Throws FileFault if a part is damaged or nested deeper than FILE_DEPTH_MAX. */
export function readXml(zip: ZipFile, part: string, reader: XmlReader): void {
  const parser = new SaxesParser({ position: false })
  let depth = 0
  let faults = 0
  parser.on('error', () => {
    faults += 1
    if (faults > FAULTS_MAX) throw new FileFault('failed', 'It is damaged or incomplete.')
  })
  parser.on('opentag', ({ name, attributes }) => {
    depth += 1
    if (depth > FILE_DEPTH_MAX) {
      throw new FileFault('failed', `It is nested more than ${FILE_DEPTH_MAX} levels deep.`)
    }
    const prefix = name.slice(0, name.indexOf(':') + 1)
    const attribute = (wanted: string) => {
      const key =
        [prefix + wanted, wanted].find((one) => Object.hasOwn(attributes, one)) ??
        Object.keys(attributes).find((one) => localName(one) === wanted)
      return key === undefined ? null : String(attributes[key])
    }
    const relation = () => {
      const key = Object.keys(attributes).find((one) => one.endsWith(':id'))
      return key === undefined ? null : String(attributes[key])
    }
    reader.open?.({ name: localName(name), attribute, relation })
  })
  parser.on('closetag', ({ name }) => {
    depth -= 1
    reader.close?.(localName(name))
  })
  parser.on('text', (text) => reader.text?.(text))
  parser.on('cdata', (text) => reader.text?.(text))
  let decoder: TextDecoder | null = null
  zip.read(part, (piece) => {
    decoder ??= new TextDecoder(encodingOf(piece))
    parser.write(decoder.decode(piece, { stream: true }))
  })
  parser.close()
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

function localName(name: string): string {
  const colon = name.indexOf(':')
  return colon === -1 ? name : name.slice(colon + 1)
}
