// The Python package as a wheel (PyPA binary distribution format), made of pyproject.toml and src/ without Python.

import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedFile } from '#packed-file.ts'
import { zipOf } from '#zip.ts'

export type Wheel = { readonly name: string; readonly content: Buffer }

export function wheelOf(folder: string): Wheel {
  const project = readProject(readFileSync(join(folder, 'pyproject.toml'), 'utf8'))
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

const WHEEL = `Wheel-Version: 1.0
Generator: mailroom
Root-Is-Purelib: true
Tag: py3-none-any
`

function recordLine({ path, content }: PackedFile): string {
  return `${path},sha256=${hash('sha256', content, 'base64url')},${content.length}`
}

type Project = {
  readonly name: string
  readonly description: string
  readonly readme: string
  readonly requiresPython: string
  readonly license: string
  readonly keywords: readonly string[]
  readonly classifiers: readonly string[]
  readonly dependencies: readonly string[]
  readonly extras: Readonly<Record<string, readonly string[]>>
}

/** Reads the tables of pyproject.toml whose values are strings and arrays of strings. */
function readProject(toml: string): Project {
  const project = readTable(toml, 'project')
  const extras = readTable(toml, 'project.optional-dependencies')
  return {
    name: stringOf(project, 'name'),
    description: stringOf(project, 'description'),
    readme: stringOf(project, 'readme'),
    requiresPython: stringOf(project, 'requires-python'),
    license: /text\s*=\s*"([^"]+)"/.exec(project.get('license') ?? '')?.[1] ?? '',
    keywords: stringsOf(project, 'keywords'),
    classifiers: stringsOf(project, 'classifiers'),
    dependencies: stringsOf(project, 'dependencies'),
    extras: Object.fromEntries([...extras.keys()].map((name) => [name, stringsOf(extras, name)])),
  }
}

/** The values as they are written, by their keys. */
function readTable(toml: string, name: string): Map<string, string> {
  const start = `\n${toml}`.indexOf(`\n[${name}]\n`)
  if (start < 0) return new Map()
  const table = toml.slice(start + name.length + 3).split(/^\[[\w.-]+\]$/m, 1)[0] ?? ''
  const pairs = table.matchAll(/^([\w-]+)\s*=\s*(\[[^\]]*(?:\[[^\]]*\][^\]]*)*\]|.*)$/gm)
  return new Map(Array.from(pairs, ([, key = '', value = '']) => [key, value]))
}

function stringOf(table: ReadonlyMap<string, string>, key: string): string {
  const value: unknown = JSON.parse(table.get(key) ?? 'null')
  if (typeof value !== 'string') throw new Error(`pyproject.toml has no string ${key}`)
  return value
}

function stringsOf(table: ReadonlyMap<string, string>, key: string): string[] {
  const value = (table.get(key) ?? '[]').replace(/,\s*\]$/, ']')
  return JSON.parse(value) as string[]
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
  const extras = Object.entries(project.extras).flatMap(([extra, needs]) => [
    `Provides-Extra: ${extra}`,
    ...needs.map((need) => `Requires-Dist: ${need}; extra == "${extra}"`),
  ])
  const fields = [
    'Metadata-Version: 2.1',
    `Name: ${project.name}`,
    `Version: ${version}`,
    `Summary: ${project.description}`,
    `License: ${project.license}`,
    `Keywords: ${project.keywords.join(',')}`,
    ...project.classifiers.map((classifier) => `Classifier: ${classifier}`),
    `Requires-Python: ${project.requiresPython}`,
    'Description-Content-Type: text/markdown',
    'License-File: LICENSE',
    ...project.dependencies.map((need) => `Requires-Dist: ${need}`),
    ...extras,
  ]
  return `${fields.join('\n')}\n\n${description}`
}
