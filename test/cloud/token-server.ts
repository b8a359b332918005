import type { ServerResponse } from 'node:http';
import { afterEach } from 'vitest';
import { createHttp, createTokenSource, type TokenSource } from '#cloud/client/index.ts';
import { cloudOperations } from '#cloud/contract/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { bindClient } from '#lib/contract/client.ts';
import { json, keyPair, quiet, type Scripted, scripted } from './support.ts';

export const current = keyPair();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

export type Answer = (response: ServerResponse, assertion: string) => void | Promise<void>;
export const granted =
  (token: string, ...expiresIn: unknown[]): Answer =>
  (response) =>
    json(response, 200, {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresIn.length === 0 ? 3600 : expiresIn[0],
    });
export const refused =
  (error: string, headers = {}): Answer =>
  (response) =>
    json(response, 400, { error }, headers);

/** A token server that answers with the script, its last entry for ever. */
export async function setUp(script: Answer[], more: Partial<Parameters<typeof createTokenSource>[0]> = {}) {
  const clock = manualClock();
  const assertions: string[] = [];
  const server: Scripted = await scripted((seen, response) => {
    const assertion = new URLSearchParams(seen.body).get('assertion') ?? '';
    assertions.push(assertion);
    const answer = script[Math.min(assertions.length, script.length) - 1];
    // The server's clock is the bridge's unless a test says otherwise.
    response.setHeader('date', new Date(clock.wall()).toUTCString());
    return answer?.(response, assertion);
  });
  const http = createHttp({ clock, bases: { auth: { url: server.url, key: 'cloud.auth_url' } } });
  const stop = new AbortController();
  const tokens = createTokenSource({
    clientId: 'bridge-1',
    audience: server.url,
    keys: { current: { pem: current.pem, keyId: 'k1' } },
    client: bindClient(cloudOperations, http.transport),
    clock,
    log: quiet,
    random: () => 0.5,
    signal: stop.signal,
    ...more,
  });
  closing.push(async () => {
    stop.abort(new Error('end'));
    await http.close();
    await server.close();
  });
  return { clock, assertions, server, tokens };
}
export const { signal } = new AbortController();
export async function value(tokens: TokenSource): Promise<string> {
  const token = await tokens.get(signal);
  return token.kind === 'token' ? token.value.reveal() : `${token.failure}: ${token.message}`;
}
