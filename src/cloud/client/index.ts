export { type AssertionFacts, publicKeyOf, type SigningKey } from './assertion.ts';
export * from './client.ts';
export * from './options.ts';
export * from './retry-after.ts';
export type { SigningKeys, Token, TokenSource, TokenState } from './token.ts';
export { createTokenSource } from './token.ts';
export * from './transport.ts';
