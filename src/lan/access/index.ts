export { type GuardRefusal, type GuardRules, guard, type RequestHead } from './guards.ts';
export { type Credentials, credentialsOf, endedCookie, securityHeaders, sessionCookie } from './headers.ts';
export {
  type Caller,
  type Denial,
  denial,
  type Permission,
  permissions,
  type Role,
  roles,
  type Scope,
  scopes,
} from './permissions.ts';
