// Runs the stages of a Dockerfile, one instruction after the other, each stage in a folder of its own.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { runStep } from './container.ts'
import { type Instruction, readEnv, type Stage } from './read-dockerfile.ts'

export type Image = {
  /** Folders, the topmost first. */
  readonly layers: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  readonly user: string
  readonly volumes: readonly string[]
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly health: readonly string[] | null
}

type Draft = { -readonly [Key in keyof Image]: Image[Key] }

export type BuildOptions = {
  readonly root: string
  readonly scratch: string
  /** Files that a build may copy, below `root`. */
  readonly context: readonly string[]
  /** The files that a substitute image adds to this machine's system, by their path. */
  readonly bases: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly stages: readonly Stage[]
  tell(text: string): void
}

/** Builds the named stages in order; each may be based on an earlier one. */
export async function buildImages(
  options: BuildOptions,
  names: readonly string[],
): Promise<Map<string, Image>> {
  const images = new Map<string, Image>()
  for (const stage of options.stages) {
    if (names.includes(stage.name)) images.set(stage.name, await buildStage(options, stage, images))
  }
  return images
}

async function buildStage(
  options: BuildOptions,
  stage: Stage,
  images: ReadonlyMap<string, Image>,
): Promise<Image> {
  const upper = join(options.scratch, `stage-${stage.name}`)
  mkdirSync(upper, { recursive: true })
  const base = images.get(stage.base)
  if (base === undefined) putFiles(upper, options.bases[stage.base])
  const image: Draft = base
    ? { ...base, layers: [upper, ...base.layers] }
    : { ...EMPTY, layers: [upper] }
  for (const instruction of stage.instructions) {
    options.tell(`${stage.name}: ${instruction.keyword} ${instruction.text.slice(0, 100)}`)
    await carryOut(instruction, { options, image, images, upper })
  }
  return image
}

const EMPTY: Image = {
  layers: [],
  env: {},
  folder: '/',
  user: '0:0',
  volumes: [],
  entrypoint: [],
  command: [],
  health: null,
}

function putFiles(upper: string, files: Readonly<Record<string, string>> | undefined): void {
  if (files === undefined) throw new Error('There is no stand-in for this base image.')
  for (const [to, from] of Object.entries(files)) {
    mkdirSync(dirname(join(upper, to)), { recursive: true })
    cpSync(from, join(upper, to))
  }
}

type Step = {
  options: BuildOptions
  image: Draft
  images: ReadonlyMap<string, Image>
  upper: string
}

async function carryOut(instruction: Instruction, step: Step): Promise<void> {
  const { image, upper, options } = step
  const { keyword, text, words } = instruction
  switch (keyword) {
    case 'RUN': {
      const { env, folder, user } = image
      const args = ['sh', '-c', text]
      const layers = image.layers.slice(1)
      return runStep({ layers, scratch: options.scratch, args, env, folder, user }, upper)
    }
    case 'COPY':
      return copy(instruction, step)
    case 'WORKDIR':
      image.folder = resolve(image.folder, text)
      mkdirSync(join(upper, image.folder), { recursive: true })
      return
    case 'ENV':
      image.env = { ...image.env, ...readEnv(instruction) }
      return
    case 'VOLUME':
      image.volumes = [...image.volumes, ...words]
      return
    case 'USER':
      image.user = text
      return
    case 'HEALTHCHECK':
      image.health = words
      return
    case 'ENTRYPOINT':
      image.entrypoint = words
      image.command = []
      return
    case 'CMD':
      image.command = words
  }
}

/** Copies the content of a folder; a target that ends in `/` is a folder. */
function copy({ words, flags, text }: Instruction, { options, image, images, upper }: Step): void {
  const sources = words.slice(0, -1)
  const target = words.at(-1) ?? ''
  const to = join(upper, resolve(image.folder, target))
  for (const source of sources) {
    const into = target.endsWith('/') ? join(to, source.split('/').at(-1) ?? '') : to
    if (flags.from !== undefined) {
      const from = findInLayers(images.get(flags.from)?.layers ?? [], source)
      if (from === null) throw new Error(`COPY ${text}: it is not in ${flags.from}`)
      mkdirSync(statSync(from).isDirectory() ? into : dirname(into), { recursive: true })
      const what = statSync(from).isDirectory() ? `${from}/.` : from
      execFileSync('cp', ['-a', what, into])
      continue
    }
    const files = options.context.filter((path) => path === source || path.startsWith(`${source}/`))
    if (files.length === 0) throw new Error(`COPY ${text}: the build does not see ${source}`)
    for (const file of files) {
      const place = file === source ? into : join(into, file.slice(source.length))
      mkdirSync(dirname(place), { recursive: true })
      cpSync(join(options.root, file), place)
    }
  }
}

function findInLayers(layers: readonly string[], path: string): string | null {
  const found = layers.map((layer) => join(layer, path)).find((one) => existsSync(one))
  return found !== undefined && lstatSync(found).isSymbolicLink() ? null : (found ?? null)
}
