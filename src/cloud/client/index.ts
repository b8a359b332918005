export { type AssertionFacts, publicKeyOf, type SigningKey } from './assertion.ts';
export * from './client.ts';
export * from './options.ts';
export { type ClientCredentials, clientCredentialsSource, type GivenToken, givenToken } from './other-tokens.ts';
export * from './retry-after.ts';
export type { EventTokenSource, SigningKeys } from './token.ts';
export { createTokenSource } from './token.ts';
export type { Token, TokenSource, TokenState } from './token-source.ts';
export * from './transport.ts';
