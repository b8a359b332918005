import { type Change, freeSecretFile, type Path, type SecretFile, secretFiles, secretFolder } from '#config/index.ts';
import { type Issue, SitewardError } from '#errors.ts';

/** Secrets that came with changes of the configuration, as `{ "secret": "TEXT" }` in the place of a reference. */

export interface GivenSecret extends SecretFile {
  /** The member it is of, such as `password`. */
  readonly member: string;
}

/** Deeper than any configuration. */
const depthCap = 16;
const textCap = 16 * 1024;
const lineCap = 4096;

/**
 * The changes with a reference to a file in the place of each secret, and the files, none of which is written yet. Throws
 * `config_invalid` with each that cannot be one; no message repeats it.
 */
export async function takeSecrets(
  changes: readonly Change[],
  { file, text }: { file: string; text: string },
): Promise<{ changes: readonly Change[]; secrets: readonly GivenSecret[] }> {
  const [folder, taken] = [secretFolder(file, text), [...secretFiles(text)]];
  const secrets: GivenSecret[] = [];
  const issues: Issue[] = [];

  async function place(secret: unknown, name: string, member: string, field: string): Promise<unknown> {
    const wrong = unfit(secret, member);
    if (wrong !== undefined || typeof secret !== 'string') {
      issues.push({ field, message: wrong ?? 'must be text' });
      return null;
    }
    const inFile = secret.replace(/\r?\n$/, '');
    // Speakers of one device and user have one password.
    const shared = name.startsWith('speaker-') ? secrets.find(({ text: known }) => known === inFile) : undefined;
    if (shared?.member === member) return { file: shared.path };
    const path = await freeSecretFile(folder, name, taken);
    taken.push(path);
    secrets.push({ path, text: inFile, member });
    return { file: path };
  }

  async function walk(value: unknown, name: string, path: Path, field: string): Promise<unknown> {
    if (typeof value !== 'object' || value === null) return value;
    if (path.length > depthCap) throw invalid([{ field, message: 'lies deeper than anything of a configuration' }]);
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [at, item] of value.entries()) items.push(await walk(item, name, [...path, at], `${field}[${at}]`));
      return items;
    }
    if (Object.hasOwn(value, 'secret'))
      return place(
        Object.keys(value).length === 1 ? (value as { secret: unknown }).secret : undefined,
        nameOf(name, path),
        String(path.at(-1)),
        field,
      );
    const members: [string, unknown][] = [];
    for (const [key, member] of Object.entries(value))
      members.push([key, await walk(member, name, [...path, key], `${field}.${key}`)]);
    return Object.fromEntries(members);
  }

  const placed: Change[] = [];
  for (const [index, change] of changes.entries()) {
    const field = `changes[${index}]`;
    const members = async (value: object, part: string) =>
      (await walk(value, ownerOf(change), [], `${field}.${part}`)) as Record<string, unknown>;
    if (change.do === 'add') placed.push({ ...change, entry: await members(change.entry, 'entry') });
    else if (change.do === 'set' || change.do === 'change')
      placed.push({ ...change, members: await members(change.members, 'members') });
    else placed.push(change);
  }
  if (issues.length > 0) throw invalid(issues);
  return { changes: placed, secrets };
}

const invalid = (issues: readonly Issue[]) =>
  new SitewardError('config_invalid', 'nothing was written: a secret that was given cannot be one', { issues });

/** What the file is called after, before what the secret is of. */
function ownerOf(change: Change): string {
  const { section } = change;
  if (change.do === 'set' || change.do === 'drop') return section;
  const id = change.do === 'add' ? change.entry.id : change.id;
  const kind = section === 'speakers' ? 'speaker' : 'camera';
  return `${kind}-${typeof id === 'string' ? id : 'new'}`;
}

/** `camera-yard`, `cloud-events-private-key`. */
function nameOf(owner: string, path: Path): string {
  const rest = path.filter((part) => part !== 'password').map((part) => `${part}`);
  return [owner, ...rest]
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 90);
}

/** In words; undefined where it may be one. */
function unfit(secret: unknown, member: string): string | undefined {
  if (typeof secret !== 'string') return 'must be { "secret": "TEXT" } and nothing else';
  const isKey = member.endsWith('private_key');
  if (secret.trim() === '') return 'is an empty secret';
  if (secret.length > (isKey ? textCap : lineCap)) return 'is too long for a secret';
  if (isKey) return secret.includes('\0') ? 'is no private key' : undefined;
  return /\p{Cc}/u.test(secret.replace(/\r?\n$/, '')) ? 'must be one line of text' : undefined;
}
