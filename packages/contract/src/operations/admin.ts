// Operations for whoever runs the service. They answer 404 while no operator's token is configured.

import { Account, CreateAccount, NewAccount, UpdateAccount } from '#shapes/account.ts'
import { listOf, PageQuery } from '#shapes/page.ts'
import type { Operation } from './operation.ts'

export const adminOperations = {
  'admin.accounts.create': {
    method: 'POST',
    path: '/admin/accounts',
    tag: 'Administration',
    summary: 'Create an account with a default pod and a first API key.',
    auth: 'operator',
    isRateLimited: false,
    body: CreateAccount,
    success: { status: 201, description: 'The new account and its key.', schema: NewAccount },
    errors: [],
  },
  'admin.accounts.list': {
    method: 'GET',
    path: '/admin/accounts',
    tag: 'Administration',
    summary: 'List accounts.',
    auth: 'operator',
    isRateLimited: false,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of accounts.',
      schema: listOf(Account, 'A page of accounts.'),
    },
    errors: [],
  },
  'admin.accounts.update': {
    method: 'PATCH',
    path: '/admin/accounts/{id}',
    tag: 'Administration',
    summary: 'Update an account.',
    auth: 'operator',
    isRateLimited: false,
    parameters: { id: 'The id of an account.' },
    body: UpdateAccount,
    success: { status: 200, description: 'The account as it is now.', schema: Account },
    errors: [],
  },
} as const satisfies Record<string, Operation>
