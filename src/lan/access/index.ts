export { createAccess } from './access.ts';
export { type GuardRefusal, guard } from './guards.ts';
export { credentialsOf, endedCookie, securityHeaders, sessionCookie } from './headers.ts';
export {
  type Caller,
  denial,
  type Permission,
  type PermittedOperation,
  permissions,
  type Role,
  roles,
  type Scope,
  scopes,
} from './permissions.ts';
export type { Unfit } from './rules.ts';
export { type Session, sessionTimes } from './sessions.ts';
export type { Access, By, Opened } from './types.ts';
