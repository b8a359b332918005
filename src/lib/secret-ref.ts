import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { Secret } from './secret.ts';
import { systemCode } from './system-code.ts';

/** Where a secret lies. It holds no secret itself and may be shown to anyone. */
export class SecretRef {
  readonly kind: 'credential' | 'file' | 'env';
  readonly name: string;

  constructor(kind: SecretRef['kind'], name: string) {
    this.kind = kind;
    this.name = name;
  }

  toString(): string {
    return `${this.kind} ${this.name}`;
  }
}

const credential = z.strictObject({
  credential: z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/, 'must be the name of a systemd credential'),
});
const file = z.strictObject({ file: z.string().refine(isAbsolute, 'must be an absolute path') });
const env = z.strictObject({
  env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable'),
});

/** Configuration schema of a secret: always a reference, never the text. The message never repeats what was given. */
export const secretRef = z
  .union([credential, file, env], {
    error:
      'must say where the secret lies, not the secret itself: { credential: NAME }, { file: /PATH } or { env: NAME }',
  })
  .transform((ref) => {
    if ('credential' in ref) return new SecretRef('credential', ref.credential);
    return 'file' in ref ? new SecretRef('file', ref.file) : new SecretRef('env', ref.env);
  });

/** What secrets are read from; `secretSources` gives the real ones. */
export interface SecretSources {
  /** The directory systemd fills with this service's credentials (`CREDENTIALS_DIRECTORY`). */
  readonly credentialsDirectory?: string | undefined;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Text and permission bits of a regular file; throws what the system throws. */
  readFile(path: string): { readonly text: string; readonly mode: number };
  /** Told about a secret that is less private than it should be. */
  warn?(message: string): void;
}

export function secretSources(variables: SecretSources['variables'] = process.env): SecretSources {
  return { credentialsDirectory: variables.CREDENTIALS_DIRECTORY, variables, readFile: readPrivateFile };
}

/**
 * Reads the secret a reference names, without the line end at its end. Throws `secret_unreadable` with the
 * reference in the message, also for an empty secret and for a file that everyone may read; the text of the secret is in
 * no message. Reads synchronously: secrets are a handful of small files, read at start and at reload only.
 */
export function resolveSecret(ref: SecretRef, sources: SecretSources): Secret {
  const text = readRef(ref, sources).replace(/\r?\n$/, '');
  if (text === '') throw unreadable(ref, 'it is empty');
  return new Secret(text);
}

function readRef(ref: SecretRef, sources: SecretSources): string {
  switch (ref.kind) {
    case 'env': {
      const text = sources.variables[ref.name];
      if (text === undefined) throw unreadable(ref, 'the variable is not set');
      return text;
    }
    case 'credential':
      if (sources.credentialsDirectory === undefined) {
        throw unreadable(ref, 'there is no credentials directory; start the service by systemd with LoadCredential=');
      }
      // systemd keeps this directory private; the bits of its files say nothing.
      return read(ref, join(sources.credentialsDirectory, ref.name), sources).text;
    case 'file': {
      const { text, mode } = read(ref, ref.name, sources);
      if ((mode & 0o007) !== 0) throw unreadable(ref, `everyone may use the file; run "chmod 600 ${ref.name}"`);
      if ((mode & 0o077) !== 0) {
        sources.warn?.(`${ref}: other users may use the file; run "chmod 600 ${ref.name}"`);
      }
      return text;
    }
  }
}

function read(ref: SecretRef, path: string, sources: SecretSources) {
  try {
    return sources.readFile(path);
  } catch (cause) {
    throw unreadable(ref, reasonOf(cause));
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a directory',
};

function reasonOf(cause: unknown): string {
  const code = systemCode(cause) ?? '';
  return reasons[code] ?? (code === '' && cause instanceof Error ? cause.message : code);
}

const unreadable = (ref: SecretRef, reason: string) =>
  new SitewardError('secret_unreadable', `the secret of ${ref} cannot be read: ${reason}`, {
    facts: { kind: ref.kind, name: ref.name, reason },
  });

const fileCap = 64 * 1024;

function readPrivateFile(path: string): { text: string; mode: number } {
  // O_NONBLOCK: opening a FIFO by mistake must not hang the daemon.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new Error('it is not a regular file');
    if (stat.size > fileCap) throw new Error(`it is larger than ${fileCap} bytes`);
    return { text: readFileSync(fd, 'utf8'), mode: stat.mode & 0o777 };
  } finally {
    closeSync(fd);
  }
}
