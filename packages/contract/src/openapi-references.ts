// What several operations of the OpenAPI document have alike is written once under `components`.

export type JsonObject = { [name: string]: unknown }

/** A part of an operation, with the name that it gets where others have the same part. */
export type Part = { readonly name: string; readonly content: JsonObject }

export type Shared = {
  /** The parts that are there more than once, by name. */
  readonly components: JsonObject
  /** A reference to the part where it is shared, else the part itself. */
  refer(part: Part): JsonObject
}

export function shareRepeated(section: 'parameters' | 'responses', parts: readonly Part[]): Shared {
  const uses = Map.groupBy(parts, ({ content }) => JSON.stringify(content))
  const names = new Map<string, string>()
  const taken = new Map<string, JsonObject>()
  for (const [key, [first, second]] of uses) {
    if (first === undefined || second === undefined) continue
    const name = freeName(first.name, taken)
    names.set(key, name)
    taken.set(name, first.content)
  }
  return {
    components: Object.fromEntries([...taken].sort(([a], [b]) => (a < b ? -1 : 1))),
    refer({ content }) {
      const name = names.get(JSON.stringify(content))
      return name === undefined ? content : { $ref: `#/components/${section}/${name}` }
    },
  }
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name
  for (let count = 2; taken.has(free); count += 1) free = `${name}_${count}`
  return free
}
