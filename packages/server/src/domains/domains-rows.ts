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
  changeDomainInboxCount,
  countEveryDomain,
  findDomain,
  findDomainsNamed,
  findHeldDomain,
  findServedDomain,
  insertDomain,
  isDomainHere,
  listEveryDomain,
  lockDomain,
  lockDomainsNamed,
  removeDomain,
  setDomainPod,
} from './domain-rows.ts'
export { claimDomainChecks, settleDomain } from './settle-domain-rows.ts'
