// The figures of a running service, as its operator reads them.

import { OPERATOR_TOKEN, type World } from '#test/world.ts'

type Service = Pick<World, 'fetch'>

export async function readFigures({ fetch }: Service): Promise<string> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
  return (await fetch('/metrics', { headers })).text()
}

/** A figure by its name with its labels; NaN where there is none. */
export async function figureOf(service: Service, name: string): Promise<number> {
  const lines = (await readFigures(service)).split('\n')
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1))
}
