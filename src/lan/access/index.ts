export { type GuardRefusal, type GuardRules, guard, type RequestHead } from './guards.ts';
export { type Credentials, credentialsOf, endedCookie, securityHeaders, sessionCookie } from './headers.ts';
