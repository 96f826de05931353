export { loadLongReads, openSearchSlots, searchHandlers } from './handlers.ts'
export { type Indexer, openCatchUps, openIndexer, searchWork } from './indexer.ts'
