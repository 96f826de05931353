export { type Indexer, openCatchUps, openIndexer, searchWork } from './indexer.ts'
export { loadLongReads, openSearchSlots, searchHandlers } from './search-handlers.ts'
