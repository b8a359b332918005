import { readFile } from 'node:fs/promises';
import { runningDaemon } from '#box/lock.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { type UserEntry, userList } from '#lan/http/index.ts';
import { given } from '#lib/given.ts';
import { codePattern, codeRule, userId } from '#site/model/index.ts';
import { withConsent } from '../access/user-codes.ts';
import { isInForce, putInForce } from '../config-in-force.ts';
import { answered } from '../control.ts';
import { withFile } from '../named-file.ts';
import { asCode } from '../piped-code.ts';
import { otherOn } from '../runs-with.ts';
import type { Answers } from './answers.ts';
import { type Context, open, type Step, skipped } from './types.ts';

/** The daemon runs, with the configuration as it is written. */
export const daemonStep: Step = {
  id: 'daemon',
  title: 'The daemon',
  needs: ['site'],
  later: 'systemctl enable --now siteward; systemctl reload siteward after a change',
  async isDone({ site, socket }) {
    try {
      const { file, text } = site();
      const other = await otherOn(socket, file);
      if (other !== undefined) return { isDone: false, words: other };
      return (await isInForce(text, socket))
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
    const known = await usersOf(context);
    const listed = context.answers.users.filter(({ id }) => !known.some((one) => one.id === id));
    const users = ownersFirst(listed.length > 0 ? listed : await askUser(context));
    if (users.length === 0) {
      if (known.some(({ role }) => role === 'owner')) return skipped('no further users');
      const lacking = 'there is no owner: nobody can disarm here with a code, and nobody lets others in';
      return context.talk.isThere ? open(lacking) : skipped(lacking);
    }
    const endless = users.find(({ role, valid_until: until }) => role === 'installer' && until === undefined);
    if (endless !== undefined) return open(`users: ${endless.id} is an installer, who comes for a time (valid_until)`);
    const codes = new Map<string, Codes>();
    for (const user of users) {
      const own = await codesOf(context, user);
      if (own === undefined) return open(`users: the code of ${user.id} is missing (code_file)`);
      codes.set(user.id, own);
    }
    const isOwned = known.some(({ role, source }) => role === 'owner' && source === 'file');
    const [first] = users;
    // As soon as there is an owner he agrees to others of his kind, installers and auditors (safety 4 and 11).
    const agreed = users.filter((user) => withConsent.includes(user.role) && (isOwned || user !== first));
    const isByFirst = !isOwned && first?.role === 'owner';
    const consent = isByFirst
      ? codes.get(first.id)?.code
      : isOwned && agreed.length > 0
        ? await consentOf(context, known)
        : undefined;
    const [one] = agreed;
    if (isOwned && one !== undefined && consent === undefined)
      return open(`users: ${one.id} (${one.role}) needs the code of an owner, who agrees (consent.code_file)`);
    return {
      would: `add ${users.map(({ id, role }) => `${id} (${role})`).join(', ')}`,
      values: users.map(
        ({ id, name, role, valid_until: until }) =>
          `${id}: ${name}, ${role}${until === undefined ? '' : `, until ${until}`}`,
      ),
      run: () =>
        addUsers(context, users, (user) => ({ ...codes.get(user.id), ...(agreed.includes(user) && { consent }) })),
    };
  },
};

type User = Answers['users'][number];
interface Codes {
  readonly code: string;
  readonly duress?: string;
}

export const usersOf = (context: Context) =>
  context.withDaemon(
    async ({ client }, signal) => userList.parse(answered(await client.listUsers({ signal })).json).items,
  );

const ownersFirst = (users: readonly User[]): readonly User[] =>
  users.toSorted((a, b) => Number(b.role === 'owner') - Number(a.role === 'owner'));

/** The code of an owner who is there: of the answers, also of one whom an earlier run has added; else of the person who is there. */
async function consentOf({ answers, talk }: Context, known: readonly UserEntry[]): Promise<string | undefined> {
  const owners = known.filter(({ role }) => role === 'owner').map(({ id }) => id);
  const file =
    answers.consent.code_file ??
    answers.users.find(({ id, code_file: one }) => owners.includes(id) && one !== undefined)?.code_file;
  if (file !== undefined) return await codeIn(file);
  for (;;) {
    const typed = await talk.hidden('  code of an owner, who agrees; nothing for later');
    if (typed === undefined || typed === '') return undefined;
    if (codePattern.test(typed)) return typed;
    talk.say(`  the code ${codeRule}`);
  }
}

async function askUser({ talk }: Context): Promise<readonly User[]> {
  const id = await talk.ask({
    text: '  id of the owner, who disarms with his code and lets others in; nothing for later',
    // A code typed here is refused, and not shown: an id begins with a letter.
    check: (text) => userId.safeParse(text).error?.issues[0]?.message,
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

/** Until it is a code and the same twice; nothing leaves it for later. */
async function typedTwice(talk: Context['talk'], id: string): Promise<string | undefined> {
  for (;;) {
    const first = await talk.hidden(`  code of ${id}, 4 to 12 digits; nothing for later`);
    if (first === undefined || first === '') return undefined;
    if (!codePattern.test(first)) talk.say(`  the code ${codeRule}`);
    else if ((await talk.hidden('  once more')) === first) return first;
    else talk.say('  the two are not the same');
  }
}

export const codeIn = async (file: string): Promise<string> =>
  asCode((await withFile(file, () => readFile(file, 'utf8'))).replace(/\r?\n$/, ''), `the text of ${file}`);

/** Each is whole: those before one that is refused stay, and are said. */
async function addUsers(
  context: Context,
  users: readonly User[],
  codesFor: (user: User) => Partial<Codes> & { readonly consent?: string | undefined },
): Promise<string> {
  const added: string[] = [];
  for (const user of users) {
    const { code = '', duress, consent } = codesFor(user);
    const { id, name, role, valid_until } = user;
    const body = { ...{ id, name, role, code }, ...given({ duress_code: duress, consent, valid_until }) };
    try {
      await context.withDaemon(async ({ client }, signal) => answered(await client.addUser({ body, signal })));
    } catch (error) {
      if (!(error instanceof SitewardError)) throw error;
      const before = added.length === 0 ? '' : `added: ${added.join(', ')}; `;
      throw new SitewardError(error.code, `${before}${id} was not: ${error.message}`);
    }
    added.push(id);
  }
  return `added: ${added.join(', ')}`;
}
