export { addImported } from './import-rows.ts'
export {
  addExported,
  addUploadedChunk,
  claimTransfer,
  dropUpload,
  existingChunkIds,
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
