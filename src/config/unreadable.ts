import { SitewardError } from '#errors.ts';
import { systemCode } from '#lib/system-code.ts';

/**
 * `config_unreadable` with what is wrong with the file and what to do; `facts.code` is that of the system, whose own words
 * ("ENOENT: no such file or directory, stat ...") stay out where there are better ones.
 */
export function unreadable(file: string, cause: unknown): SitewardError {
  const code = systemCode(cause);
  const known = code === undefined ? undefined : reasons(file)[code];
  const own = cause instanceof TypeError ? 'it is not UTF-8 text' : cause instanceof Error ? cause.message : '';
  return new SitewardError('config_unreadable', `the configuration ${file} cannot be read: ${known ?? own}`, {
    facts: { file, ...(code !== undefined && { code }) },
    ...(known === undefined && { cause }),
  });
}

function reasons(file: string): Readonly<Record<string, string>> {
  const none = `there is no such file. Put it back, begin one with "siteward setup --config ${file}", or name the right one with --config`;
  const denied = 'this user may not read it. Run this as root, or as a member of the group siteward';
  return { ENOENT: none, ENOTDIR: none, EACCES: denied, EPERM: denied };
}
