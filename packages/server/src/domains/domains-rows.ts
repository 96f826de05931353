export {
  ensureDkimKeys,
  listAllDkimKeys,
  listDkimKeys,
  markPublished,
  replaceRetiredKey,
  switchDkimKeys,
} from './dkim-key-rows.ts'
export { isUsable } from './domain.ts'
export {
  changeDomain,
  changeDomainInboxCount,
  countEveryDomain,
  endCatchAll,
  findDomain,
  findDomainsNamed,
  findHeldDomain,
  findServedDomain,
  findServingDomain,
  findServingDomains,
  insertDomain,
  isDomainHere,
  listEveryDomain,
  lockDomain,
  lockDomainsNamed,
  removeDomain,
  type ServingDomain,
} from './domain-rows.ts'
export { claimDomainChecks, settleDomain } from './settle-domain-rows.ts'
