import './import-rows.ts'

export { existingChunkIds } from './transfer-chunk-rows.ts'
export { releaseTransfers } from './transfer-rows.ts'
