import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const MAJOR_MIN = 20

/** The oldest Node.js of this machine that what is packed promises to run on; its path. */
export function oldestNode(): string {
  const { PATH = '', npm_node_execpath: ofNpm } = process.env
  const onPath = PATH.split(delimiter).map((folder) => join(folder, 'node'))
  const found = [...new Set([...onPath, ...(ofNpm === undefined ? [] : [ofNpm])])]
    .filter((path) => existsSync(path))
    .map((path) => ({ path, major: majorOf(path) }))
    .filter(({ major }) => major >= MAJOR_MIN)
    .sort((a, b) => a.major - b.major)
  return found[0]?.path ?? process.execPath
}

function majorOf(node: string): number {
  return Number(
    execFileSync(node, ['-p', "process.versions.node.split('.')[0]"], { encoding: 'utf8' }),
  )
}
