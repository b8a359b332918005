export { type AccessOptions, createAccess } from './access.ts';
export type { From } from './audit.ts';
export type { ShownPerson } from './book.ts';
export { type GuardRefusal, type GuardRules, guard, type RequestHead } from './guards.ts';
export { type Credentials, credentialsOf, endedCookie, securityHeaders, sessionCookie } from './headers.ts';
export type { ShownKey } from './keys.ts';
export {
  type Caller,
  type Denial,
  denial,
  type Permission,
  type PermittedOperation,
  permissions,
  type Role,
  roles,
  type Scope,
  scopes,
} from './permissions.ts';
export type { NewKey, NewPerson, Unfit } from './rules.ts';
export { type Session, sessionTimes } from './sessions.ts';
export type { Access, By, Claim, Login, Opened, OwnPassword } from './types.ts';
