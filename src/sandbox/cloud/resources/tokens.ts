import { z } from 'zod';
import { clientCredentialsGrant, jwtBearerGrant, jwtBearerToken } from '#cloud/contract/index.ts';
import { defineOperation } from '#lib/contract/operation.ts';
import type { Reply } from '#lib/contract/server.ts';
import { noStore, oauthError, sentence } from '../answers.ts';
import { verifyAssertion } from '../assertion.ts';
import { sameSecret } from '../clients.ts';
import { type Caller, openRules, type Resource, resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import type { Grant } from '../tokens.ts';

/** Both grants share one path (section 5 of the specification), so on the server they are one operation. */
const token = defineOperation({
  ...jwtBearerToken,
  id: 'token',
  summary: 'Exchange an assertion, or client id and secret, for an access token',
  body: {
    media: 'application/x-www-form-urlencoded',
    schema: z.record(z.string(), z.string({ error: 'must be given once' })),
  },
  rules: ['S-030', 'S-031', 'S-034', 'S-035', 'S-036', 'S-037', 'S-038', 'S-039'],
});

type Form = Readonly<Record<string, string>>;

export function tokensResource(state: CloudState): Resource {
  return resource(
    { token },
    {
      token: async ({ body, query, header, identity }) => {
        if (Object.keys(query).length > 0) {
          return oauthError('invalid_request', 'parameters belong into the body, never into the address');
        }
        const form = present(body);
        if (form.grant_type === undefined) return oauthError('invalid_request', 'grant_type: is required');
        if (form.grant_type === jwtBearerGrant) return jwtGrant(state, form, identity);
        if (form.grant_type === clientCredentialsGrant) {
          return credentialsGrant(state, form, header('authorization'), identity);
        }
        return oauthError('unsupported_grant_type', 'grant_type must be jwt-bearer (RFC 7523) or client_credentials');
      },
    },
    {
      ...openRules,
      refuse: (_, status, issues) => oauthError('invalid_request', sentence(issues), { status }),
    },
  );
}

/** An empty value counts as absent (RFC 6749 3.2). */
const present = (form: Form): Form => Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));

async function jwtGrant(state: CloudState, form: Form, { exchange }: Caller): Promise<Reply> {
  if (form.assertion === undefined) return oauthError('invalid_request', 'assertion: is required');
  const verdict = await verifyAssertion(form.assertion, {
    clients: state.clients,
    replay: state.replay,
    rules: state.assertionRules,
    nowMs: state.now(),
  });
  if ('refused' in verdict) return oauthError('invalid_grant', verdict.refused);
  if ('busy' in verdict) {
    return oauthError('temporarily_unavailable', verdict.busy, { status: 429, headers: { 'retry-after': '60' } });
  }
  const { clientId, mayIngest } = verdict.client;
  exchange.client = clientId;
  exchange.note = `event token for ${clientId}`;
  return issue(state, { capability: 'event', clientId, mayIngest });
}

function credentialsGrant(state: CloudState, form: Form, authorization: string | undefined, caller: Caller): Reply {
  const basic = authorization === undefined ? undefined : readBasic(authorization);
  if (basic !== undefined && (form.client_id !== undefined || form.client_secret !== undefined)) {
    return oauthError('invalid_request', 'client credentials were given twice: in the header and in the body');
  }
  const [id, secret] = basic ?? [form.client_id, form.client_secret];
  if (id === undefined) return oauthError('invalid_request', 'client_id: is required');
  const client = state.clients.get(id);
  if (client === undefined || secret === undefined || !client.secrets.some((known) => sameSecret(known, secret))) {
    // A challenge only for who used the header (RFC 6749 5.2).
    const headers = basic === undefined ? {} : { 'www-authenticate': 'Basic realm="token"' };
    return oauthError('invalid_client', 'client id or secret is wrong', { status: 401, headers });
  }
  caller.exchange.client = id;
  caller.exchange.note = `partner token for ${id}`;
  return issue(state, { capability: 'partner', clientId: id, mayIngest: false });
}

/** Both halves are form-encoded before base64 (RFC 6749 2.3.1). */
function readBasic(header: string): [string, string] | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return [text, ''];
  return [formDecode(text.slice(0, colon)), formDecode(text.slice(colon + 1))];
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** The lifetime of event tokens is always said (S-035), that of partner tokens unless the dialect hides it (S-031). */
function issue(state: CloudState, grant: Grant): Reply {
  const access_token = state.tokens.issue(grant, state.now(), state.tokenLifeS);
  const told = grant.capability === 'event' || state.dialect.token_expires_in;
  const life = told ? { expires_in: state.tokenLifeS } : {};
  return { status: 200, body: { access_token, token_type: 'Bearer', ...life }, headers: noStore };
}
