import { expect, it } from 'vitest';
import type { z } from 'zod';
import { type Access, type Caller, denial, type Opened, scopes } from '#lan/access/index.ts';
import { cloudOperations, type LanPort, lanOperations } from '#lan/http/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { never } from '#lib/wait.ts';
import { type Box, box, by, claim, join, lan, passwords } from '../access/box.ts';
import { text } from '../access/rig.ts';
import { type Asked, type Network, network } from './access-rig.ts';

const operations: readonly Operation[] = Object.values({ ...lanOperations, ...cloudOperations });

/** Who asks, and as whom the table must see it. */
interface Asker {
  readonly name: string;
  readonly caller: Caller;
  /** Credentials of one request. */
  readonly credentials: () => Promise<Asked>;
}

interface World {
  readonly made: Box;
  readonly access: Access;
  readonly net: Network;
  /** Calls of the ports of the site. */
  readonly called: string[];
}

async function world(): Promise<World> {
  const made = box();
  const access = await made.start();
  const called: string[] = [];
  const { access: _, ...ports } = fakeLanPort();
  const net = network(access, watched(ports, called, 'port') as Partial<LanPort>);
  return { made, access, called, net };
}

/** The same, and `called` tells what was called of it. */
function watched(value: unknown, called: string[], name: string): unknown {
  if (typeof value === 'function')
    return (...args: unknown[]) => {
      called.push(name);
      return (value as (...args: unknown[]) => unknown)(...args);
    };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, watched(member, called, `${name}.${key}`)]),
  );
}

/** What fits the places of a path, and is nowhere. */
const nothing = ['nothing', '1', '0'.repeat(12), '0'.repeat(8)];

/** A request that gets as far as the handler, or is refused for its empty body: nothing of it changes anything. */
function requestOf(operation: Operation): Asked & { readonly path: string } {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, place: string) => {
    const schema = operation.params?.shape[place] as z.ZodType | undefined;
    return nothing.find((value) => schema?.safeParse(value).success) ?? 'nothing';
  });
  return {
    path,
    method: operation.method,
    ...(operation.body !== undefined && { body: {}, media: operation.body.media }),
  };
}

/** A session of its own for each request: some operations end it. */
function person({ access }: World, name: string, { caller }: Opened, password: string): Asker {
  const credentials = async () => {
    const { token } = await access.login({ id: caller.id, password, address: lan(1) }, never());
    return { session: token.reveal() };
  };
  return { name, caller, credentials };
}

async function keysOf({ access }: World, maker: Opened): Promise<readonly Asker[]> {
  const made: Asker[] = [];
  for (const scope of scopes) {
    const { key, token } = await access.addKey(by(maker), { name: scope, scopes: [scope] });
    const caller = { kind: 'key', id: key.id, scopes: [scope], role: maker.caller.role } as const;
    made.push({ name: `key ${scope} of ${caller.role}`, caller, credentials: async () => ({ key: token.reveal() }) });
  }
  return made;
}

const nobody: Asker = { name: 'nobody', caller: { kind: 'nobody' }, credentials: async () => ({}) };

/** What the API does differently from the table, one line a cell. */
async function differences({ made, access, called, net }: World, asker: Asker): Promise<string[]> {
  const found: string[] = [];
  for (const operation of operations) {
    const credentials = await asker.credentials();
    const { path, ...request } = requestOf(operation);
    const before = JSON.stringify([text(made.dir), access.sessions().map(({ id }) => id)]);
    called.length = 0;
    const told = await net.ask(path, { ...request, ...credentials });
    const why = denial(asker.caller, operation.id);
    const cell = `${asker.name} · ${operation.id}: ${told.status} ${String(told.json.code ?? '')}`;
    if (why === undefined) {
      if ([401, 403, 500].includes(told.status)) found.push(`${cell}, and may`);
      continue;
    }
    if (told.status !== (why === 'login' ? 401 : 403)) found.push(`${cell}, and may not (${why})`);
    if (called.length > 0) found.push(`${cell}, and called ${called.join(' ')}`);
    if (told.session !== undefined) found.push(`${cell}, and sent a cookie`);
    const after = JSON.stringify([text(made.dir), access.sessions().map(({ id }) => id)]);
    if (after !== before) found.push(`${cell}, and changed the accounts`);
  }
  return found;
}

const allDifferences = async (about: World, askers: readonly Asker[]): Promise<string[]> => {
  const found: string[] = [];
  for (const asker of askers) found.push(...(await differences(about, asker)));
  return found;
};

const tomorrow = ({ clock }: Box): string => new Date(clock.wall() + 86_400_000).toISOString();

it('before the hand-over everybody may over the network what the table says, and nothing else', {
  timeout: 60_000,
}, async () => {
  const before = await world();
  const ines = await claim(before.access, 'ines', 'installer');
  const askers = [
    person(before, 'installer', ines, passwords.ines),
    person(before, 'operator', await join(before.access, ines, 'otto', 'operator'), passwords.next),
    person(before, 'viewer', await join(before.access, ines, 'vera', 'viewer'), passwords.next),
    ...(await keysOf(before, ines)),
    nobody,
  ];
  expect(await allDifferences(before, askers)).toEqual([]);
});

it('after it, too: with a consent, without one, and with the password that somebody else gave', {
  timeout: 60_000,
}, async () => {
  const after = await world();
  const { access, made } = after;
  const ines = await claim(access, 'ines', 'installer');
  const stale = await keysOf(after, ines);
  const olga = await join(access, ines, 'olga', 'owner');
  const outside = stale.map((asker): Asker => ({ ...asker, name: `${asker.name}, outside`, caller: nobody.caller }));
  expect(await allDifferences(after, outside.slice(0, 2))).toEqual([]);
  await access.limitPerson(by(olga), 'ines', tomorrow(made));

  await access.addPerson(by(olga), { id: 'nora', name: 'Nora', role: 'owner', password: passwords.given }, never());
  const nora = await access.login({ id: 'nora', password: passwords.given, address: lan(2) }, never());
  const inesBack = await access.login({ id: 'ines', password: passwords.ines, address: lan(2) }, never());
  const askers = [
    person(after, 'owner', olga, passwords.next),
    person(after, 'operator', await join(access, olga, 'otto', 'operator'), passwords.next),
    person(after, 'viewer', await join(access, olga, 'vera', 'viewer'), passwords.next),
    person(after, 'installer with consent', inesBack, passwords.ines),
    person(after, 'new owner', nora, passwords.given),
    ...stale,
    ...(await keysOf(after, olga)),
    nobody,
  ];
  expect(await allDifferences(after, askers)).toEqual([]);
  const ended = { ...nobody, name: 'ended session', credentials: async () => ({ session: olga.token.reveal() }) };
  access.logout(by(olga));
  const wrongKey = { ...nobody, name: 'no key', credentials: async () => ({ key: `sw_00000000_${'a'.repeat(43)}` }) };
  expect(await allDifferences(after, [ended, wrongKey])).toEqual([]);
});

it('the control socket may do everything, and no operation is a mistake of ours', async () => {
  const here = await world();
  await claim(here.access, 'olga', 'owner');
  const last = operations.filter(({ id }) => id === 'resetAccess');
  const found: string[] = [];
  for (const operation of [...operations.filter(({ id }) => id !== 'resetAccess'), ...last]) {
    const { path, ...request } = requestOf(operation);
    const { status } = await here.net.ask(path, { ...request, from: 'here' });
    if (status === 401 || status === 500) found.push(`${operation.id}: ${status}`);
  }
  expect(found).toEqual([]);
});
