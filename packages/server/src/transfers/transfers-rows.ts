export { addImported } from './import-rows.ts'
export {
  addExported,
  addUploadedChunk,
  claimTransfer,
  dropUpload,
  existingChunkIds,
  finishTransfer,
  insertTransfer,
  purgeTransfersStep,
  queueImport,
  releaseTransfers,
  renewTransfer,
  returnTransfer,
} from './transfer-rows.ts'
