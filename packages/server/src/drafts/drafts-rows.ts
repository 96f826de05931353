export { purgeDraftsOf, removeDraft } from './draft-rows.ts'
