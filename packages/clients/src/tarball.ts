import { gzipSync } from 'node:zlib'
import { packTar } from 'modern-tar'
import type { PackedFile } from '#packed-file.ts'

/** The time that npm itself writes. */
const MTIME = new Date(499_162_500_000)

/** A package for npm. The same files make the same bytes. */
export async function tarballOf(files: readonly PackedFile[]): Promise<Buffer> {
  const entries = files.map(({ path, content, isProgram = false }) => ({
    header: {
      name: `package/${path}`,
      size: content.length,
      mode: isProgram ? 0o755 : 0o644,
      mtime: MTIME,
    },
    body: content,
  }))
  return gzipSync(await packTar(entries), { level: 9 })
}
