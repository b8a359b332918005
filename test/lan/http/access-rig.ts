import { pino } from 'pino';
import type { Access, Opened } from '#lan/access/index.ts';
import { identifyLocal, lanApp } from '#lan/http/app.ts';
import { identifyNetwork } from '#lan/http/identify-network.ts';
import type { LanPort } from '#lan/http/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';

/** Where a request comes from that does not say it. */
export const desk = '192.0.2.1';
const bridge = '192.0.2.100:8443';

export interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  /** Of the body; JSON where it is left out. */
  readonly media?: string;
  /** Address it comes from; `here`: the control socket. */
  readonly from?: string;
  readonly session?: string | undefined;
  readonly key?: string;
}

export interface Told {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
  readonly headers: Headers;
  /** Token of the session that the answer opens; empty for a cookie that ends. */
  readonly session: string | undefined;
}

/** The LAN API on a real room of access, as the network and the control socket see it. */
export function network(access: Access, replaced: Partial<LanPort> = {}) {
  const log: string[] = [];
  const logger = pino({ base: null, level: 'trace' }, { write: (line) => void log.push(line) });
  const port = fakeLanPort(0, { access: () => access, ...replaced });
  const remote = lanApp(port, { log: logger, identify: identifyNetwork(port, new Set()) });
  const local = lanApp(port, { log: logger, identify: identifyLocal });
  const texts: string[] = [];

  async function ask(
    path: string,
    { method = 'GET', body, media = 'application/json', from = desk, session, key }: Asked = {},
  ): Promise<Told> {
    const headers = {
      host: bridge,
      ...(key === undefined && { origin: `https://${bridge}` }),
      ...(body !== undefined && { 'content-type': media }),
      ...(session !== undefined && { cookie: `__Host-sw=${session}` }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const init = { method, headers, ...(body !== undefined && { body: text }) };
    const bindings = { incoming: { socket: { remoteAddress: from } } };
    const answer = await (from === 'here' ? local.request(path, init) : remote.request(path, init, bindings));
    // A stream has no end to wait for.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (isStream) await answer.body?.cancel();
    const said = isStream ? '' : await answer.text();
    texts.push(said);
    const json = answer.headers.get('content-type')?.includes('json') ? JSON.parse(said) : {};
    const cookie = answer.headers.get('set-cookie') ?? undefined;
    return {
      ...{ status: answer.status, text: said, json, headers: answer.headers },
      session: cookie === undefined ? undefined : /^__Host-sw=([^;]*);/.exec(cookie)?.[1],
    };
  }

  const post = (path: string, body?: unknown, more: Asked = {}) => ask(path, { method: 'POST', body, ...more });
  return {
    ...{ ask, post, log },
    /** Of every answer so far. */
    texts,
    login: (id: string, password: string, more: Asked = {}) => post('/api/v1/access/login', { id, password }, more),
  };
}
export type Network = ReturnType<typeof network>;

export const tokenOf = ({ token }: Pick<Opened, 'token'>): string => token.reveal();
