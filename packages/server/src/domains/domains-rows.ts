export { listAllDkimKeys, listDkimKeys } from './dkim-key-rows.ts'
export { isUsable } from './domain.ts'
export {
  changeDomainInboxCount,
  countEveryDomain,
  endCatchAll,
  findDomain,
  findDomainsNamed,
  findHeldDomain,
  findServedDomain,
  findServingDomain,
  findServingDomains,
  isDomainHere,
  listEveryDomain,
  lockDomain,
  lockDomainsNamed,
  type ServingDomain,
} from './domain-rows.ts'

import './settle-domain-rows.ts'
