// The program that the service sees in its log.

/** Equals the version in package.json. */
export const VERSION = '0.1.0'

type Runtimes = {
  readonly Deno?: { readonly version: { readonly deno: string } }
  readonly Bun?: { readonly version: string }
  readonly process?: { readonly versions?: { readonly node?: string } }
  readonly navigator?: { readonly userAgent?: string }
}

/** Null in browsers, which do not let pages set the field. */
export function userAgent(): string | null {
  const { Deno, Bun, process, navigator } = globalThis as Runtimes
  const own = `mailroom-sdk/${VERSION}`
  if (Deno !== undefined) return `${own} deno/${Deno.version.deno}`
  if (Bun !== undefined) return `${own} bun/${Bun.version}`
  if (navigator?.userAgent === 'Cloudflare-Workers') return `${own} workerd`
  const node = process?.versions?.node
  return node === undefined ? null : `${own} node/${node}`
}
