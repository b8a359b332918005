import { postEvent } from './events.ts';
import { clientCredentialsToken, jwtBearerToken } from './tokens.ts';

export * from './dialect.ts';
export * from './encode.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './fields.ts';
export * from './tokens.ts';

/** Every operation of the cloud service siteward knows so far, by its id. */
export const cloudOperations = { jwtBearerToken, clientCredentialsToken, postEvent } as const;
