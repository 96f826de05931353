// The pages about what comes in and goes out, in one script that is loaded with the first of them.

import { DomainPage } from './domain.tsx'
import { DomainsPage } from './domains.tsx'
import { QuarantinePage } from './quarantine.tsx'
import { RulesPage } from './rules.tsx'
import { ScheduledPage } from './scheduled.tsx'
import { SuppressionsPage } from './suppressions.tsx'
import { TransfersPage } from './transfers.tsx'

export const mailFlow = {
  DomainPage,
  DomainsPage,
  QuarantinePage,
  RulesPage,
  ScheduledPage,
  SuppressionsPage,
  TransfersPage,
}
