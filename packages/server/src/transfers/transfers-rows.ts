export { addImported } from './import-rows.ts'
export { existingChunkIds } from './transfer-chunk-rows.ts'
export {
  addExported,
  addUploadedChunk,
  claimTransfer,
  dropUpload,
  failTransfer,
  finishTransfer,
  insertTransfer,
  purgeTransfersStep,
  queueImport,
  releaseTransfers,
  removeExport,
  renewTransfer,
  returnTransfer,
} from './transfer-rows.ts'
