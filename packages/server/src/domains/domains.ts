export { type AskedRecord, askRecords, openDomainChecks } from './check-domain.ts'
export { openDomainCreations } from './create-domain.ts'
export { domainHandlers } from './handlers.ts'
export { domainWork } from './work.ts'
