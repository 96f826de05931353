export { loadLongReads, openSearchSlots, searchHandlers } from './handlers.ts'
export { type Indexer, openIndexer, searchWork } from './indexer.ts'
