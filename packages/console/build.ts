// Bundles the console into `dist/`: index.html and assets named by their content, each with what
// brotli and gzip make of it beside it.

import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type BuildOptions, build, type Metafile, type OutputFile } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = join(here, 'dist')

/** Where the service serves it. */
const BASE = '/console/'

/** Good enough for 200 KB, at a tenth of the time that the best takes. */
const BROTLI_QUALITY = 9

const compress = {
  '.br': (bytes: Uint8Array) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY },
    }),
  '.gz': promisify<Uint8Array, Buffer>(gzip),
}

const shared = {
  absWorkingDir: here,
  outdir: 'dist/assets',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.svg': 'copy' },
  bundle: true,
  minify: true,
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
} as const satisfies BuildOptions

/** Replaces `dist/` at once, so that two that build at the same time leave one whole console. */
export async function buildConsole(): Promise<void> {
  const [modules, first] = await Promise.all([
    build({
      ...shared,
      entryPoints: ['src/main.tsx', 'src/style/main.css', 'src/icon.svg'],
      splitting: true,
      format: 'esm',
    }),
    // A plain script, which runs before the page is painted; modules run after it.
    build({ ...shared, entryPoints: ['src/theme-first.ts'], format: 'iife' }),
  ])
  const names = new Map([...namesByEntry(modules.metafile), ...namesByEntry(first.metafile)])
  const template = await readFile(join(here, 'src/index.html'), 'utf8')
  const html = template.replaceAll(/%([\w./-]+)%/g, (_, entry: string) => {
    const name = names.get(entry)
    if (name === undefined) throw new Error(`index.html names ${entry}, which was not built`)
    return `${BASE}assets/${name}`
  })
  const preloads = importedByMain(modules.metafile).map(
    (name) => `<link rel="modulepreload" href="${BASE}assets/${name}" />\n  </head>`,
  )
  const whole = preloads.reduce((text, link) => text.replace('</head>', link), html)
  await replaceDist([...modules.outputFiles, ...first.outputFiles], whole)
}
function namesByEntry({ outputs }: Metafile): Map<string, string> {
  const entries = Object.entries(outputs).flatMap(([path, { entryPoint, inputs }]) => {
    // What is only copied has no entry point, but one input.
    const entry = entryPoint ?? (path.endsWith('.svg') ? Object.keys(inputs)[0] : undefined)
    return entry === undefined ? [] : [[entry, basename(path)] as const]
  })
  return new Map(entries)
}

/** What the browser would ask for only after it has read the first module. */
function importedByMain({ outputs }: Metafile): string[] {
  const main = Object.values(outputs).find(({ entryPoint }) => entryPoint === 'src/main.tsx')
  const isAtOnce = ({ kind }: { kind: string }) => kind === 'import-statement'
  return (main?.imports ?? []).filter(isAtOnce).map(({ path }) => basename(path))
}

async function replaceDist(files: readonly OutputFile[], html: string): Promise<void> {
  const made = await mkdtemp(join(here, '.dist-'))
  const old = `${made}.old`
  try {
    await mkdir(join(made, 'assets'))
    const assets = files.map(
      ({ path, contents }) => [`assets/${basename(path)}`, contents] as const,
    )
    const all = [...assets, ['index.html', Buffer.from(html)] as const]
    await Promise.all(all.map(([name, bytes]) => writeWithCompressed(join(made, name), bytes)))
    // Whoever installs need not be the user that serves.
    await chmod(made, 0o755)
    await rename(dist, old).catch(() => {})
    // Another build may have put its own there in between, which is the same.
    await rename(made, dist).catch(() => {})
  } finally {
    await rm(made, { recursive: true, force: true })
    await rm(old, { recursive: true, force: true })
  }
}

async function writeWithCompressed(path: string, bytes: Uint8Array): Promise<void> {
  await writeFile(path, bytes)
  await Promise.all(
    Object.entries(compress).map(async ([ending, pack]) =>
      writeFile(path + ending, await pack(bytes)),
    ),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole()
