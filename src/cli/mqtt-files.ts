import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { SitewardError } from '#errors.ts';
import type { Role } from '#lan/mqtt/index.ts';
import { authorityFiles } from '#lib/certificates.ts';
import { type Owner, writeDurably } from '#lib/durable-file.ts';
import type { Secret } from '#lib/secret.ts';
import { resolveSecret, secretRef, secretSources } from '#lib/secret-ref.ts';
import { withFile } from './named-file.ts';
import type { SiteFile } from './site-file.ts';

/** The name of siteward's own account. */
export const ownAccount = 'siteward';

/** What `siteward mqtt provision` writes into the folder, besides the certificate. */
export const filesIn = (dir: string) => ({
  passwords: join(dir, 'passwd'),
  rights: join(dir, 'acl'),
  authority: join(dir, 'ca.crt'),
});

/** Where the site's certificate authority lies, whichever broker uses it. */
export const siteAuthority = ({ settings }: SiteFile) => authorityFiles(join(settings.store.dir, 'tls'));

/** Random, 144 bits, and nothing that a shell or a form would take for something else. */
export const newPassword = (): string => randomBytes(18).toString('base64url');

export interface Account {
  readonly id: string;
  readonly role: Role;
  /** Of a bridge. */
  readonly panels?: readonly string[] | undefined;
}

export const accountsOf = ({ settings }: SiteFile): readonly Account[] =>
  settings.mqtt.clients.map(({ id, role, panels }) => ({ id, role, panels }));

/**
 * The passwords that the configuration names, by client. Throws `secret_unreadable`: a systemd credential is seen by the service
 * alone.
 */
export function namedPasswords({ text }: SiteFile): ReadonlyMap<string, Secret> {
  return new Map(
    refsIn(text).flatMap(({ id, ref }) =>
      ref === undefined ? [] : [[id, resolveSecret(ref, secretSources())] as const],
    ),
  );
}

/** The file a client's password lies in, where it is one. */
export function passwordFileOf({ text }: SiteFile, id: string): string | 'none' | 'elsewhere' {
  const ref = refsIn(text).find((one) => one.id === id)?.ref;
  if (ref === undefined) return 'none';
  return ref.kind === 'file' ? ref.name : 'elsewhere';
}

function refsIn(text: string) {
  const value = parse(text, { logLevel: 'silent' }) as { mqtt?: { clients?: { id: string; password?: unknown }[] } };
  return (value.mqtt?.clients ?? []).map(({ id, password }) => ({
    id,
    ref: password === undefined ? undefined : secretRef.parse(password),
  }));
}

/** The text of a file, empty where there is none. Throws `file_unusable`. */
export async function textOf(path: string): Promise<string> {
  if (!existsSync(path)) return '';
  return await withFile(path, () => readFile(path, 'utf8'));
}

/** Writes a file unless it holds the text already; says whether it did. */
export async function writeChanged(path: string, text: string, mode: number, owner: Owner): Promise<boolean> {
  return await withFile(path, async () => {
    const about = await stat(path).catch(() => undefined);
    const isRight = about !== undefined && about.uid === owner.uid && about.gid === owner.gid;
    if (isRight && (about.mode & 0o777) === mode && (await readFile(path, 'utf8')) === text) return false;
    await writeDurably(path, text, { mode, owner });
    return true;
  });
}

/** A new folder is `owner`'s, who must be let in where the files are. */
export async function makeFolder(path: string, { uid, gid }: Owner, mode = 0o750): Promise<void> {
  await withFile(path, async () => {
    const made = await mkdir(path, { recursive: true, mode });
    if (made !== undefined) await chown(path, uid, gid);
  });
}

/**
 * Who may read what mosquitto must: files of root, of the group of mosquitto; its key is its own. Another user than root writes
 * files of his own. Throws `mqtt_refused` where there is no such user.
 */
export async function mosquittoOwners(user: string): Promise<{ readonly shared: Owner; readonly alone: Owner }> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid !== 0) return { shared: { uid, gid }, alone: { uid, gid } };
  const entry = (await textOf('/etc/passwd')).split('\n').find((line) => line.startsWith(`${user}:`));
  const [, , userId, groupId] = entry?.split(':') ?? [];
  if (userId === undefined || groupId === undefined)
    throw refused(`there is no user ${user} here: install mosquitto first (apt-get install mosquitto), or say --user`);
  return { shared: { uid: 0, gid: Number(groupId) }, alone: { uid: Number(userId), gid: Number(groupId) } };
}

/** Where mosquitto finds the listeners: its folder for such files beside `dir`, else in `dir` itself. */
export function confFile(dir: string, conf: string | undefined): { readonly path: string; readonly included: boolean } {
  if (conf !== undefined) return { path: resolve(conf), included: true };
  const folder = join(dirname(dir), 'conf.d');
  return existsSync(folder)
    ? { path: join(folder, 'siteward.conf'), included: true }
    : { path: join(dir, 'mosquitto.conf'), included: false };
}

export const refused = (message: string) => new SitewardError('mqtt_refused', message);
