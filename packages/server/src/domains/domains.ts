export { type AskedRecord, askRecords, openDomainChecks } from './check-domain.ts'
export { openDomainCreations } from './create-domain.ts'
export {
  type DkimKey,
  type DkimOwner,
  dkimKeyName,
  dkimKeyRecord,
  makeFewAtOnce,
  SERVICE_OWNER,
} from './dkim-key.ts'
export {
  type DnsRecord,
  dnsStartLog,
  domainDnsRecords,
  formatDnsTable,
  formatZone,
  serviceDnsRecords,
} from './dns-records.ts'
export { type Domain, isLocal } from './domain.ts'
export { domainHandlers } from './domain-handlers.ts'
export { domainWork } from './domain-work.ts'
export {
  DKIM_RETIRING_MS,
  type KeyRotation,
  rotateKey,
  settledAt,
} from './rotate-keys.ts'
export {
  DKIM_KEY_REREAD_MS,
  ensureServiceKeys,
  listServiceRecords,
  openSigners,
  type ServiceKeyDeps,
  type Signers,
  serviceOwner,
} from './signers.ts'
