export {
  addDraftFile,
  changeDraft,
  insertDraft,
  purgeDraftsOf,
  removeDraft,
  removeDraftFile,
  sendDraft,
} from './draft-rows.ts'
