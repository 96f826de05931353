export { type Indexer, openCatchUps, openIndexer } from './indexer.ts'
export { loadLongReads, openSearchSlots, searchHandlers } from './search-handlers.ts'
