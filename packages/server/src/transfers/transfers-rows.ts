import './import-rows.ts'

export { existingChunkIds } from './transfer-chunk-rows.ts'
export { endUploads } from './transfer-rows.ts'
