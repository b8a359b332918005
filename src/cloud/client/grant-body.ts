import { clientCredentialsGrant, jwtBearerGrant } from '#cloud/contract/index.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { type SigningKey, signAssertion } from './assertion.ts';
import type { ClientCredentials } from './other-tokens.ts';

export interface GrantMaterial {
  readonly clientId: string;
  readonly audience: string;
  readonly key: SigningKey;
  readonly nowMs: number;
  readonly partner?: ClientCredentials;
}

/**
 * The form of one grant, for a person who asks for a token by hand; undefined for an operation that is no grant, or
 * whose credentials are not there. It holds secrets: send it, show it to nobody.
 */
export async function grantBody(
  { id }: Operation,
  material: GrantMaterial,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (id === 'jwtBearerToken') {
    const { assertion } = await signAssertion(material.key, material);
    return { grant_type: jwtBearerGrant, assertion };
  }
  const { partner } = material;
  if (id !== 'clientCredentialsToken' || partner === undefined) return undefined;
  return { grant_type: clientCredentialsGrant, client_id: partner.clientId, client_secret: partner.secret.reveal() };
}
