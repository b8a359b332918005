import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import type { Lan } from '../harness/lan.ts';
import { code, type Site } from '../harness/site.ts';
import type { Side } from './history.ts';
import type { World } from './world.ts';

export type Verb = 'arm' | 'disarm' | 'panic' | 'bypass';
export type Asked = Readonly<Record<string, unknown>>;

/** From where people give commands. */
export interface Sides {
  /**
   * Gives a command with the right code, and again until the daemon answers; resolves with the outcome, `asked` where this side
   * gets no answer.
   */
  ask(side: Side, verb: Verb, body: Asked): Promise<string>;
  /** A code nobody has; resolves with the outcome. */
  askWrongly(partition: string): Promise<string>;
  /** Home Assistant has started. */
  birth(): Promise<void>;
  close(): Promise<void>;
}

const patienceMs = 120_000;
/** Below the minute that a command lives. */
const sameIdMs = 40_000;

export async function openSides(world: World, options: { httpPort: number }): Promise<Sides> {
  const { site } = world;
  const tablet = await site.watch('tablet');
  const guard = await openGuard(site, options.httpPort);
  const issued = () => ({ issued_at: new Date(world.now()).toISOString() });

  async function overMqtt(lan: Lan, verb: Verb, body: Asked): Promise<string> {
    const { outcome, error } = await lan.ask(verb, { ...issued(), ...body }, patienceMs);
    return error === undefined ? outcome : `${outcome} ${error.code}`;
  }

  async function home(verb: Verb, { partition }: Asked): Promise<string> {
    const action = verb === 'arm' ? 'ARM_AWAY' : 'DISARM';
    const text = JSON.stringify({ action, code, ...issued() });
    await site.lan.publish(`${site.root}/cmd/ha/${String(partition)}`, text);
    return 'asked';
  }

  return {
    async ask(side, verb, body) {
      if (side === 'home assistant') return home(verb, body);
      if (side === 'http') return guard.command({ ...issued(), verb, code, ...body });
      return overMqtt(side === 'tablet' ? tablet : site.lan, verb, { code, ...body });
    },
    askWrongly: (partition) => overMqtt(site.lan, 'disarm', { partition, code: '00112233' }),
    birth: () => site.lan.publish('homeassistant/status', 'online'),
    close: guard.close,
  };
}

/** A guard's program in the network, with an API key of the owner's. */
async function openGuard(site: Site, port: number) {
  const address = `https://127.0.0.1:${port}`;
  const authority = () => readFileSync(join(site.stateDir, 'tls', 'ca.crt'), 'utf8');
  const dispatcher = new Agent({
    connect: { ca: await eventually('the authority of the site', authority) },
    headersTimeout: 15_000,
    bodyTimeout: 15_000,
  });
  async function post(path: string, body: object, headers: Record<string, string>) {
    const answer = await request(`${address}${path}`, {
      ...{ method: 'POST', dispatcher, body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', ...headers },
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text.slice(0, 200)}`);
    return { json: JSON.parse(text), headers: answer.headers };
  }
  const origin = { origin: address };
  const { body } = await askSocket(site.socket, 'GET', '/api/v1/access/claim-code');
  const owner = { code: body.claim_code, id: 'olga', name: 'Olga', role: 'owner', password: 'a long walk to the sea' };
  const claimed = await eventually('the claim', () => post('/api/v1/access/claim', owner, origin));
  const cookie = [claimed.headers['set-cookie']].flat().map((one) => String(one).split(';')[0]);
  const key = { name: 'guard', scopes: ['state', 'events', 'commands'] };
  const { json } = await post('/api/v1/access/keys', key, { ...origin, cookie: cookie.join('; ') });
  const bearer = { authorization: `Bearer ${json.token}` };
  return {
    /** Under one id until there is an answer. */
    async command(of: Asked): Promise<string> {
      const id = randomUUID();
      async function ask(): Promise<string> {
        const { outcome, error } = (await post('/api/v1/commands', { id, ...of }, bearer)).json;
        return error === undefined ? outcome : `${outcome} ${error.code}`;
      }
      return eventually('the answer to the guard', ask, { timeoutMs: sameIdMs, everyMs: 500 });
    },
    close: () => dispatcher.destroy(),
  };
}
