import { readFile, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { scopes } from '#lan/access/index.ts';
import { claimCodeAnswer, type KeyEntry, keyList, newKeyAnswer } from '#lan/http/index.ts';
import { given } from '#lib/given.ts';
import { listenerOf } from '../access/claim-code.ts';
import { answered, type Control, patience } from '../control.ts';
import { intoFile, withFile } from '../named-file.ts';
import type { Answers } from './answers.ts';
import { named } from './devices.ts';
import { openListener } from './own-listener.ts';
import { type Context, type NotNow, open, type Step, skipped } from './types.ts';

type KeyAnswer = Answers['api_keys'][number];

/**
 * Keys for programs on the network. A key belongs to an account, and counts while that one may come in: a bridge that nobody has
 * claimed is claimed for it. Each key is shown to its file alone.
 */
export const apiKeyStep: Step = {
  id: 'api_keys',
  title: 'API keys for programs on the network',
  needs: ['daemon'],
  later: 'siteward claim-code, then POST /api/v1/access/keys (docs/access.md)',
  async isDone(context) {
    const keys = await keysOf(context);
    const missing = await missingOf(context, keys);
    const words = `API keys: ${named(keys.map(({ name }) => name))}`;
    return { isDone: keys.length > 0 && missing.length === 0, words };
  },
  async ask(context) {
    const missing = await missingOf(context, await keysOf(context));
    const wanted = missing.length > 0 ? missing : await askKey(context);
    if (wanted.length === 0) return skipped('no API key');
    const listener = await context.withDaemon(listenerOf);
    if (listener.listen === undefined || listener.fingerprint === undefined)
      return open('the LAN API does not listen on the network (http.listen): nobody could use a key');
    const account = await accountOf(context);
    if ('words' in account) return account;
    const { listen, fingerprint } = listener;
    const claims = account.isFirst ? `claim this bridge for the account ${account.id} (${account.role}), and ` : '';
    return {
      would: `${claims}make a key for ${named(wanted.map(({ name, file }) => `${name} into ${file}`))}`,
      values: wanted.map(({ name, scopes: may, file }) => `${name}: may ${may.join(', ')}, key in ${file}`),
      run: () => context.withDaemon((control) => makeKeys(control, { listen, fingerprint }, account, wanted)),
    };
  },
};

const keysOf = (context: Context): Promise<readonly KeyEntry[]> =>
  context.withDaemon(
    async ({ client }, signal) => keyList.parse(answered(await client.listKeys({ signal })).json).items,
  );

/** Its file is begun before the key is made: one that is empty is of a run that ended in between. */
const isUnfinished = async (file: string): Promise<boolean> =>
  await stat(file).then(
    (found) => found.isFile() && found.size === 0,
    () => false,
  );

async function missingOf({ answers }: Context, keys: readonly KeyEntry[]): Promise<readonly KeyAnswer[]> {
  const missing: KeyAnswer[] = [];
  for (const one of answers.api_keys)
    if (!keys.some(({ name }) => name === one.name) || (await isUnfinished(one.file))) missing.push(one);
  return missing;
}

async function askKey({ talk }: Context): Promise<readonly KeyAnswer[]> {
  const name = await talk.ask({
    text: '  program that gets an API key, such as wall tablet; nothing for none, or for later',
  });
  if (name === undefined || name === '') return [];
  const listed = (text: string) => text.split(/[\s,]+/).filter((one) => one !== '');
  const isScope = (one: string): one is KeyAnswer['scopes'][number] => (scopes as readonly string[]).includes(one);
  const may = await talk.ask({
    text: '    what it may (docs/access.md)',
    initial: 'state events',
    check: (text) => (listed(text).every(isScope) ? undefined : `some of ${scopes.join(', ')}`),
  });
  const file = await talk.ask({
    text: '    file for the key, which must not be there yet',
    initial: resolve(`${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.key`),
  });
  return [{ name, scopes: listed(may ?? '').filter(isScope), file: resolve(file ?? '') }];
}

interface Account {
  readonly id: string;
  readonly name: string;
  readonly role: 'owner' | 'installer';
  readonly password: string;
  /** Nobody has claimed the bridge. */
  readonly isFirst: boolean;
}

async function accountOf(context: Context): Promise<Account | NotNow> {
  const { talk, answers } = context;
  const { claimed: isClaimed } = await context.withDaemon(claimOf);
  const { account } = answers;
  if (talk.isThere && account.id === undefined)
    talk.say(
      isClaimed
        ? '  A key belongs to an account, and counts while that one may come in.'
        : '  Nobody has claimed this bridge. A key belongs to an account, which is the first one then; one of an installer ends with the hand-over.',
    );
  const whose = isClaimed ? 'account that makes it' : 'id of the account, to log in with';
  const id = account.id ?? (await talk.ask({ text: `  ${whose}` }));
  if (id === undefined || id === '') return open('an API key belongs to an account: account.id is missing');
  const file = account.password_file;
  const password =
    file === undefined
      ? await typed(talk, isClaimed)
      : (await withFile(file, () => readFile(file, 'utf8'))).replace(/\r?\n$/, '');
  if (password === undefined || password === '') return open('account.password_file is missing');
  const role = account.role ?? (isClaimed ? 'installer' : await askRole(talk));
  return { id, name: account.name ?? id, role, password, isFirst: !isClaimed };
}

async function askRole(talk: Context['talk']): Promise<'owner' | 'installer'> {
  const role = await talk.ask({
    text: '  owner of the site, or its installer',
    initial: 'installer',
    check: (text) => (['owner', 'installer'].includes(text) ? undefined : 'owner or installer'),
  });
  return role === 'owner' ? 'owner' : 'installer';
}

async function typed(talk: Context['talk'], isKnown: boolean): Promise<string | undefined> {
  for (;;) {
    const first = await talk.hidden(isKnown ? '  its password' : '  its password, 10 characters or more');
    if (isKnown || first === undefined || first === '') return first;
    if ((await talk.hidden('  once more')) === first) return first;
    talk.say('  the two are not the same');
  }
}

const claimOf = async ({ client }: Control, signal: AbortSignal) =>
  claimCodeAnswer.parse(answered(await client.showClaimCode({ signal })).json);

async function makeKeys(
  control: Control,
  listener: { readonly listen: string; readonly fingerprint: string },
  account: Account,
  wanted: readonly KeyAnswer[],
): Promise<string> {
  await using network = openListener(listener, { cookie: await enter(control, account) });
  try {
    const made: string[] = [];
    for (const one of wanted) made.push(await makeKey({ control, network, account }, one));
    return `made: ${made.join(', ')}`;
  } finally {
    await network.client.logout({ signal: patience() }).catch(() => undefined);
  }
}

/** Gives the cookie of a session. The claim code dies with it. */
async function enter(control: Control, { id, name, role, password, isFirst }: Account): Promise<string> {
  const signal = patience();
  const code = isFirst ? (await claimOf(control, signal)).claim_code : undefined;
  const { headers } =
    code === undefined
      ? answered(await control.client.login({ body: { id, password }, signal }))
      : answered(await control.client.claim({ body: { code, id, name, role, password }, signal }));
  const [cookie = ''] = (headers['set-cookie'] ?? '').split(';');
  return cookie;
}

/** The file first. What an earlier run left half done, a file without a key and a key that nobody has, is made anew. */
async function makeKey(
  { control, network, account }: { readonly control: Control; readonly network: Control; readonly account: Account },
  wanted: KeyAnswer,
): Promise<string> {
  const { name, file, scopes: allowed, expires_at } = wanted;
  if (await isUnfinished(file)) {
    const { items } = keyList.parse(answered(await control.client.listKeys({ signal: patience() })).json);
    const isLost = (one: KeyEntry) => one.name === name && one.created_by === account.id && one.used_at === undefined;
    for (const { id } of items.filter(isLost))
      answered(await network.client.removeKey({ params: { id }, signal: patience() }));
    await withFile(file, () => rm(file));
  }
  let id = '';
  await intoFile(file, false, async (out) => {
    const body = { name, scopes: [...allowed], ...given({ expires_at }) };
    const made = newKeyAnswer.parse(answered(await network.client.addKey({ body, signal: patience() })).json);
    id = made.key.id;
    return (await out.write(`${made.token}\n`)).bytesWritten;
  });
  return `${name} (key ${id}) in ${file}`;
}
