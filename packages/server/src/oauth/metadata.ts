// Metadata for clients: the protected resource (RFC 9728) and its authorization server (RFC 8414).

import { connectionScopes } from '@mailroom/contract/vocabulary.ts'
import { resourceOf } from './model.ts'

const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'
/** RFC 9728 §3.1 inserts the well-known path before the resource's own. */
export const RESOURCE_METADATA_PATHS = [
  `${RESOURCE_METADATA_PATH}/mcp`,
  RESOURCE_METADATA_PATH,
] as const
/** Some clients ask only for the name of OpenID Connect. */
export const SERVER_METADATA_PATHS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
] as const

export function resourceMetadata(publicUrl: string): object {
  return {
    resource: resourceOf(publicUrl),
    authorization_servers: [publicUrl],
    scopes_supported: connectionScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Mailroom',
  }
}

export function serverMetadata(publicUrl: string): object {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    registration_endpoint: `${publicUrl}/oauth/register`,
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    scopes_supported: connectionScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  }
}

/** RFC 6750 §3 with the metadata's URL (RFC 9728 §5.1). */
export function challenge(
  publicUrl: string,
  { error, scopes = connectionScopes }: { error?: string; scopes?: readonly string[] } = {},
): string {
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    `resource_metadata="${publicUrl}${RESOURCE_METADATA_PATHS[0]}"`,
    `scope="${scopes.join(' ')}"`,
  ]
  return `Bearer ${parameters.join(', ')}`
}
