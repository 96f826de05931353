export {
  claimErasure,
  eraseAnswersStep,
  eraseAuditStep,
  eraseEventsStep,
  eraseFiles,
  eraseMessages,
  eraseNotes,
  finishErasure,
  insertErasure,
  noteErased,
  releaseErasures,
  returnErasure,
} from './erasure-rows.ts'
