export { type AskedRecord, askRecords, openDomainChecks } from './check-domain.ts'
export { domainHandlers } from './handlers.ts'
export { domainWork } from './work.ts'
