// Makes dist/, which leaves this repository: JavaScript and declarations that stand alone, as ES modules and, in
// dist/cjs, for require.

import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sdkTypesSource } from '@mailroom/contract/sdk-source.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))
const dist = `${here}dist`

function compile(outDir: string, options: readonly string[]): void {
  const args = ['-p', `${here}tsconfig.build.json`, '--outDir', outDir, ...options]
  execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, ...args], {
    stdio: 'inherit',
  })
}

rmSync(dist, { recursive: true, force: true })
compile(dist, [])
const asCommonJs = ['--module', 'commonjs', '--moduleResolution', 'bundler']
compile(`${dist}/cjs`, [...asCommonJs, '--verbatimModuleSyntax', 'false'])
writeFileSync(`${dist}/cjs/package.json`, '{ "type": "commonjs" }\n')

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
for (const folder of [dist, `${dist}/cjs`]) {
  writeFileSync(`${folder}/contract.d.ts`, sdkTypesSource())
}
writeFileSync(`${dist}/contract.js`, 'export {}\n')
writeFileSync(`${dist}/cjs/contract.js`, '')
