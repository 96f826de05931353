// The Python package as a wheel (PyPA binary distribution format), made of pyproject.toml and src/ without Python.

import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Zippable, zipSync } from 'fflate'
import { parse } from 'smol-toml'
import type { PackedFile } from '#packed-file.ts'

export type Wheel = { readonly name: string; readonly content: Uint8Array }

export function wheelOf(folder: string): Wheel {
  const toml = readFileSync(join(folder, 'pyproject.toml'), 'utf8')
  const { project } = Object(parse(toml)) as { project: Project }
  const version = versionIn(folder)
  const escaped = project.name.replaceAll(/[-_.]+/g, '_').toLowerCase()
  const info = `${escaped}-${version}.dist-info`
  const sources = globSync('**/*.{py,typed}', { cwd: join(folder, 'src') }).sort()
  const text = (path: string, content: string) => ({ path, content: Buffer.from(content) })
  const files: PackedFile[] = [
    ...sources.map((path) => ({ path, content: readFileSync(join(folder, 'src', path)) })),
    { path: `${info}/licenses/LICENSE`, content: readFileSync(join(folder, 'LICENSE')) },
    text(`${info}/METADATA`, metadataOf(project, version, readme(folder, project))),
    text(`${info}/WHEEL`, WHEEL),
  ]
  const recordPath = `${info}/RECORD`
  const record = [...files.map(recordLine), `${recordPath},,`].join('\n')
  return {
    name: `${escaped}-${version}-py3-none-any.whl`,
    content: zipOf([...files, text(recordPath, `${record}\n`)]),
  }
}

/** The first day that the format knows. */
const MTIME = new Date(1980, 0, 1)
const UNIX = 3
const FILE_MODE = 0o100644 << 16

/** The same files make the same bytes. */
function zipOf(files: readonly PackedFile[]): Uint8Array {
  const entries: Zippable = Object.fromEntries(files.map(({ path, content }) => [path, content]))
  return zipSync(entries, { level: 9, mtime: MTIME, os: UNIX, attrs: FILE_MODE })
}

const WHEEL = `Wheel-Version: 1.0
Generator: mailroom
Root-Is-Purelib: true
Tag: py3-none-any
`

function recordLine({ path, content }: PackedFile): string {
  return `${path},sha256=${hash('sha256', content, 'base64url')},${content.length}`
}

/** The fields of pyproject.toml (PEP 621) that a wheel contains. */
type Project = {
  readonly name: string
  readonly description: string
  readonly readme: string
  readonly 'requires-python': string
  readonly license: { readonly text: string }
  readonly keywords: readonly string[]
  readonly classifiers: readonly string[]
  readonly dependencies: readonly string[]
  readonly 'optional-dependencies': Readonly<Record<string, readonly string[]>>
}

function versionIn(folder: string): string {
  const [path = ''] = globSync('src/*/_version.py', { cwd: folder })
  const version = /VERSION = "([^"]+)"/.exec(readFileSync(join(folder, path), 'utf8'))?.[1]
  if (version === undefined) throw new Error('_version.py has no VERSION')
  return version
}

function readme(folder: string, project: Project): string {
  return readFileSync(join(folder, project.readme), 'utf8')
}

/** Core metadata 2.1. */
function metadataOf(project: Project, version: string, description: string): string {
  const extras = Object.entries(project['optional-dependencies']).flatMap(([extra, needs]) => [
    `Provides-Extra: ${extra}`,
    ...needs.map((need) => `Requires-Dist: ${need}; extra == "${extra}"`),
  ])
  const fields = [
    'Metadata-Version: 2.1',
    `Name: ${project.name}`,
    `Version: ${version}`,
    `Summary: ${project.description}`,
    `License: ${project.license.text}`,
    `Keywords: ${project.keywords.join(',')}`,
    ...project.classifiers.map((classifier) => `Classifier: ${classifier}`),
    `Requires-Python: ${project['requires-python']}`,
    'Description-Content-Type: text/markdown',
    'License-File: LICENSE',
    ...project.dependencies.map((need) => `Requires-Dist: ${need}`),
    ...extras,
  ]
  return `${fields.join('\n')}\n\n${description}`
}
