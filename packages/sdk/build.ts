// Makes dist/, which leaves this repository: JavaScript and declarations that stand alone, for `npm pack`.

import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sdkTypesSource } from '@mailroom/contract/sdk-source.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))
const dist = `${here}dist`

rmSync(dist, { recursive: true, force: true })
const compiler = [`${root}node_modules/typescript/bin/tsc`, '-p', `${here}tsconfig.build.json`]
execFileSync(process.execPath, [...compiler, '--outDir', dist], { stdio: 'inherit' })

for (const name of globSync('**/*.d.ts', { cwd: dist })) {
  const path = `${dist}/${name}`
  const text = readFileSync(path, 'utf8')
    .replace(/(['"])@mailroom\/contract\/[^'"]+\1/g, "'./contract.js'")
    .replace(/(['"])(\.\/[^'"]+)\.ts\1/g, "'$2.js'")
    // The same type in the words of TypeScript before 5.7, whose arrays of bytes have no parameter.
    .replaceAll('Uint8Array<ArrayBuffer>', "ReturnType<Uint8Array['slice']>")
    .replaceAll('Uint8Array<ArrayBufferLike>', 'Uint8Array')
  writeFileSync(path, text)
}
writeFileSync(`${dist}/contract.d.ts`, sdkTypesSource())
writeFileSync(`${dist}/contract.js`, 'export {}\n')
