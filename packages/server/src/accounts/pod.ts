// A pod: a container of inboxes inside an account, named by the service or by the client.

export type Pod = {
  id: string
  clientId: string | null
  name: string | null
  isDefault: boolean
  createdAtMs: number
}
