import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { oauthError } from './errors.ts';

export const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const clientCredentialsGrant = 'client_credentials';

/** An empty form value counts as absent (RFC 6749 3.2). */
const formText = () => z.string({ error: 'must be given once, as text' });

/**
 * The grant type is any text here, because a missing one is `invalid_request` and another one
 * `unsupported_grant_type` (S-031): the server tells them apart.
 */
const jwtBearerForm = z.looseObject({
  grant_type: formText(),
  assertion: formText().optional(),
  scope: formText().optional(),
});

/** Both values may come in an `Authorization: Basic` header instead (RFC 6749 2.3.1). */
const clientCredentialsForm = z.looseObject({
  grant_type: formText(),
  client_id: formText().optional(),
  client_secret: formText().optional(),
  scope: formText().optional(),
});

/** S-035. `expires_in` is seconds; a client must live without it (S-031). */
export const tokenAnswer = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string(),
  expires_in: z.number().optional(),
});

const refusals = {
  400: { description: 'invalid_request, invalid_grant, unsupported_grant_type, ...', schema: oauthError },
  401: { description: 'invalid_client', schema: oauthError },
} as const;

/** Token for events: an RS256 assertion is exchanged for an access token. Details in RFC 7523. */
export const jwtBearerToken = defineOperation({
  id: 'jwtBearerToken',
  method: 'POST',
  path: '/oauth/token',
  base: 'auth',
  summary: 'Exchange a signed assertion for an access token of the event interface',
  body: { media: 'application/x-www-form-urlencoded', schema: jwtBearerForm },
  responses: { 200: { description: 'The access token', schema: tokenAnswer }, ...refusals },
  auth: [],
  // A new assertion with a new jti is made for each try: the old one may have been used up (S-037).
  repeatable: 'no',
  rules: ['S-034', 'S-035', 'S-036', 'S-037', 'S-038', 'S-039'],
  tags: ['tokens'],
});

/** Token for the partner endpoints. */
export const clientCredentialsToken = defineOperation({
  id: 'clientCredentialsToken',
  method: 'POST',
  path: '/oauth/token',
  base: 'base',
  summary: 'Exchange client id and secret for an access token of the partner interface',
  body: { media: 'application/x-www-form-urlencoded', schema: clientCredentialsForm },
  responses: { 200: { description: 'The access token', schema: tokenAnswer }, ...refusals },
  auth: [],
  repeatable: 'yes',
  rules: ['S-030', 'S-031', 'S-032'],
  tags: ['tokens'],
});
