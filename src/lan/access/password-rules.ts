import { SitewardError } from '#errors.ts';
import { isCommon } from './common-passwords.ts';
import { canonical } from './password-hash.ts';

const shortestPassword = 10;
export const longestPassword = 128;

/** Throws `access_refused`; no message ever repeats what was given. */
export function mustBePassword(password: string, person: { readonly id: string; readonly name: string }): void {
  const text = canonical(password);
  const length = [...text].length;
  if (length < shortestPassword) throw refused(`must have at least ${shortestPassword} characters`);
  if (length > longestPassword) throw refused(`must have at most ${longestPassword} characters`);
  if (isCommon(text, [person.id, ...person.name.split(/[\s._-]+/)]))
    throw refused('is one of those that are tried first; take several words that do not belong together');
}

const refused = (rule: string) =>
  new SitewardError('access_refused', `the password ${rule}`, { facts: { field: 'password' } });
