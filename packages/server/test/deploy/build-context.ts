// The files of the repository that a build of the image can see, according to .dockerignore.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Paths of files below `root`. The last line that matches a path or a folder above it decides. */
export function listContext(root: string, dockerignore: string): string[] {
  const rules = dockerignore
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isKept: line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '')) }))
  const isKept = (path: string) => {
    const names = path.split('/')
    const above = names.map((_, index) => names.slice(0, index + 1).join('/'))
    return rules.findLast(({ pattern }) => above.some((one) => pattern.test(one)))?.isKept ?? true
  }
  return listFiles(root, '').filter(isKept)
}

/** The rules of Docker: unlike in a shell, `*` matches a leading dot, too. */
function toPattern(line: string): RegExp {
  const text = line
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**/', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '(.*/)?')
  return new RegExp(`^${text}$`)
}

/** Without folders that are large and that every ignore file names. */
function listFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return [path]
    return ['node_modules', '.git'].includes(entry.name) ? [] : listFiles(root, path)
  })
}
