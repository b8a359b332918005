import { readFile } from 'node:fs/promises';
import { describe, isCode, SitewardError } from '#errors.ts';
import { userList } from '#lan/http/index.ts';
import { runningDaemon } from '../daemon/lock.ts';
import { isInForce, putInForce } from './config-in-force.ts';
import { answered } from './control.ts';
import { withFile } from './named-file.ts';
import { asCode } from './piped-code.ts';
import type { Answers } from './setup-answers.ts';
import { type Context, open, type Step, skipped } from './setup-types.ts';

/** The daemon runs, with the configuration as it is written. */
export const daemonStep: Step = {
  id: 'daemon',
  title: 'The daemon',
  needs: ['site'],
  later: 'systemctl enable --now siteward; systemctl reload siteward after a change',
  async isDone({ site, socket }) {
    try {
      return (await isInForce(site().text, socket))
        ? { isDone: true, words: 'it runs with this configuration' }
        : { isDone: false, words: 'it runs with another configuration than is written' };
    } catch (error) {
      if (!isCode(error, 'control_unreachable')) throw error;
      return { isDone: false, words: describe(error) };
    }
  },
  async ask({ site, socket }) {
    const now = site();
    if (runningDaemon(now.settings.store.dir) === undefined)
      return open('it does not run: systemctl start siteward, then run this again');
    return {
      would: 'have it take the configuration',
      async run() {
        await putInForce(now, socket);
        return 'it runs with this configuration';
      },
    };
  },
};

/** The people of the site; no code is in the configuration, in the progress or in the report. */
export const userStep: Step = {
  id: 'users',
  title: 'People and their codes',
  needs: ['daemon'],
  later: 'siteward user add ID --name NAME --role owner (docs/users.md)',
  async isDone(context) {
    const known = await usersOf(context);
    const missing = context.answers.users.filter(({ id }) => !known.some((one) => one.id === id));
    const words = known.map(({ id, role }) => `${id} (${role})`).join(', ');
    return { isDone: known.length > 0 && missing.length === 0, words: `users: ${words === '' ? 'none' : words}` };
  },
  async ask(context) {
    const known = (await usersOf(context)).map(({ id }) => id);
    const listed = context.answers.users.filter(({ id }) => !known.includes(id));
    const users = listed.length > 0 ? listed : await askUser(context);
    if (users.length === 0) return skipped('no further users');
    const codes = new Map<string, Codes>();
    for (const user of users) {
      const given = await codesOf(context, user);
      if (given === undefined) return open(`users: the code of ${user.id} is missing (code_file)`);
      codes.set(user.id, given);
    }
    return {
      would: `add ${users.map(({ id, role }) => `${id} (${role})`).join(', ')}`,
      async run() {
        for (const user of users) await addUser(context, user, codes.get(user.id));
        return `added: ${users.map(({ id }) => id).join(', ')}`;
      },
    };
  },
};

type User = Answers['users'][number];
interface Codes {
  readonly code: string;
  readonly duress?: string;
}

const usersOf = (context: Context) =>
  context.withDaemon(
    async ({ client }, signal) => userList.parse(answered(await client.listUsers({ signal })).json).items,
  );

async function askUser({ talk }: Context): Promise<readonly User[]> {
  const id = await talk.ask({
    text: '  id of the owner, who lets others in later; nothing for later',
    check: (text) =>
      /^[a-z0-9][a-z0-9_-]{0,31}$/.test(text) ? undefined : '1 to 32 lower-case letters, digits, _ or -',
  });
  if (id === undefined || id === '') return [];
  const name = (await talk.ask({ text: '  name of that person', initial: id })) ?? id;
  return [{ id, name, role: 'owner' }];
}

async function codesOf({ talk }: Context, { id, code_file, duress_code_file }: User): Promise<Codes | undefined> {
  const code = code_file === undefined ? await typedTwice(talk, id) : await codeIn(code_file);
  if (code === undefined) return undefined;
  const duress = duress_code_file === undefined ? undefined : await codeIn(duress_code_file);
  return { code, ...(duress !== undefined && { duress }) };
}

async function typedTwice(talk: Context['talk'], id: string): Promise<string | undefined> {
  const first = await talk.hidden(`  code of ${id}, 4 to 12 digits`);
  if (first === undefined) return undefined;
  asCode(first, 'the code');
  if ((await talk.hidden('  once more')) === first) return first;
  throw new SitewardError('code_refused', 'the two are not the same; nothing was changed');
}

export const codeIn = async (file: string): Promise<string> =>
  asCode((await withFile(file, () => readFile(file, 'utf8'))).replace(/\r?\n$/, ''), `the text of ${file}`);

async function addUser(
  context: Context,
  { id, name, role, valid_until }: User,
  codes: Codes | undefined,
): Promise<void> {
  if (codes === undefined) return;
  const body = {
    ...{ id, name, role, code: codes.code },
    ...(codes.duress !== undefined && { duress_code: codes.duress }),
    ...(valid_until !== undefined && { valid_until }),
  };
  await context.withDaemon(async ({ client }, signal) => answered(await client.addUser({ body, signal })));
}
