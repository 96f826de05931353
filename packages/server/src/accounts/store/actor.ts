/** Who makes a change. The operator acts by commands on the machine. */
export type Actor =
  | { readonly kind: 'key'; readonly keyId: string }
  | { readonly kind: 'approver'; readonly approverId: string }
  | { readonly kind: 'operator' }
