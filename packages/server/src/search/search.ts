export { type Indexer, openCatchUps, openIndexer } from './indexer.ts'
export { searchHandlers } from './search-handlers.ts'
