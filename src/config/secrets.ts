import { randomBytes } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { resolveSecret, SecretRef, type SecretSources } from '#lib/secret-ref.ts';
import { codePattern } from '#site/model/index.ts';
import type { ConfigDocument } from './document.ts';
import { formatPath, type Path, type Problem } from './problem.ts';
import type { Config, Settings } from './schema.ts';

/** What reading the secrets of a configuration gave. */
export interface ResolvedConfig {
  readonly settings: Settings;
  readonly secrets: readonly Secret[];
  /** Secrets that cannot be read, at the place of their reference. */
  readonly unreadable: readonly Problem[];
  /** Files that other users may read. */
  readonly warnings: readonly string[];
}

/**
 * Puts each secret in the place of its reference and freezes the whole. In the place of one that cannot be read
 * stands a random text, which opens nothing and matches no code: only the part that needs it is lost.
 */
export function resolveSecrets(config: Config, document: ConfigDocument, sources: SecretSources): ResolvedConfig {
  const secrets: Secret[] = [];
  const unreadable: Problem[] = [];
  const warnings: string[] = [];

  function resolve(ref: SecretRef, path: Path): Secret {
    const warn = (message: string) => void warnings.push(`${formatPath(path)}: ${message}`);
    try {
      const secret = resolveSecret(ref, { ...sources, warn });
      secrets.push(secret);
      return secret;
    } catch (error) {
      if (!(error instanceof SitewardError)) throw error;
      unreadable.push(document.problem(path, { message: error.message }));
      return new Secret(randomBytes(32).toString('hex'));
    }
  }

  function walk(value: unknown, path: Path): unknown {
    if (value instanceof SecretRef) return resolve(value, path);
    if (Array.isArray(value)) return Object.freeze(value.map((item, index) => walk(item, [...path, index])));
    if (typeof value !== 'object' || value === null) return value;
    return Object.freeze(
      Object.fromEntries(Object.entries(value).map(([key, member]) => [key, walk(member, [...path, key])])),
    );
  }

  return { settings: walk(config, []) as Settings, secrets, unreadable, warnings };
}

/** Codes are digits (`codePattern`), and no two are the same: one of them would open as somebody else. */
export function codeProblems(settings: Settings, unreadable: readonly Problem[], document: ConfigDocument): Problem[] {
  const known = new Set(unreadable.map(({ path }) => path));
  const seen = new Set<string>();
  return settings.users.flatMap((user, index) =>
    (['code', 'duress_code'] as const).flatMap((key) => {
      const path = ['users', index, key];
      const code = user[key]?.reveal();
      if (code === undefined || known.has(formatPath(path))) return [];
      if (!codePattern.test(code))
        return [document.problem(path, { message: 'is no code', expected: '4 to 12 digits' })];
      if (seen.has(code))
        return [document.problem(path, { message: 'another code is the same', expected: 'a code of its own' })];
      seen.add(code);
      return [];
    }),
  );
}
