import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { type FakeLiveSource, fakeLiveSource, fakeSiteEvent } from '#lan/http/live.fake.ts';
import { createLive, type Live } from '#lan/http/live.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { quiet } from '../../cloud/support.ts';
import { by, claim } from '../access/box.ts';
import { type Listener, startListener } from './listener-rig.ts';
import { type Listening, listen } from './stream-rig.ts';

/** Streams over HTTPS with real accounts and keys. */

let bridge: Listener;
let source: FakeLiveSource;
let live: Live;

async function start(pingEveryMs = 15_000): Promise<void> {
  source = fakeLiveSource();
  live = createLive({ source, metrics: new Registry(), clock: manualClock(), log: quiet, pingEveryMs });
  bridge = await startListener({ port: { live: () => live } });
  onTestFinished(() => live.stop());
}

async function stream(headers: Record<string, string>, query = '?topics=events'): Promise<Listening> {
  const at = { port: bridge.port(), ca: await bridge.authority() };
  const one = await listen({ at, path: `/api/v1/stream${query}`, headers });
  onTestFinished(() => one.close());
  return one;
}

const happens = (seq: number) => live.publishEvent(fakeSiteEvent(seq));

test('nobody listens without an account or a key, nor with one in the address', async () => {
  await start();
  expect((await stream({})).status).toBe(401);
  expect((await stream({ authorization: 'Bearer sw_x' })).status).toBe(401);
  expect((await stream({}, '?token=x')).status).toBe(400);
  expect((await stream({ host: 'rebound.example.org' })).status).toBe(421);
});

test('the head of a stream takes no place of one', async () => {
  await start();
  const owner = await claim(bridge.access, 'olga', 'owner');
  const cookie = `__Host-sw=${owner.token.reveal()}`;
  for (let n = 0; n < 5; n += 1)
    expect((await bridge.ask('/api/v1/stream', { method: 'HEAD', headers: { cookie } })).status).toBe(200);
  expect((await stream({ cookie })).status).toBe(200);
});

test('a stream of a session ends with its logout: the next event is not told', async () => {
  await start();
  const owner = await claim(bridge.access, 'olga', 'owner');
  const cookie = `__Host-sw=${owner.token.reveal()}`;
  const one = await stream({ cookie });
  expect(one.headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
  happens(1);
  await one.until('event');
  bridge.access.logout(by(owner));
  happens(2);
  await eventually('the end', () => one.ended() || undefined);
  expect(one.told()).toEqual(['event 1']);
  expect((await stream({ cookie })).status).toBe(401);
});

test('a stream of a key that is removed ends at the next ping', async () => {
  await start(20);
  const owner = by(await claim(bridge.access, 'olga', 'owner'));
  const { key, token } = await bridge.access.addKey(owner, { name: 'Wall', scopes: ['events'] });
  const one = await stream({ authorization: `Bearer ${token.reveal()}` }, '');
  happens(1);
  await one.until('event');
  expect(one.told()).toEqual(['event 1']);
  await bridge.access.removeKey(owner, key.id);
  await eventually('the end', () => one.ended() || undefined);
});

test('a stop of the listener ends the streams and waits for none', async () => {
  await start();
  const owner = await claim(bridge.access, 'olga', 'owner');
  const one = await stream({ cookie: `__Host-sw=${owner.token.reveal()}` });
  await bridge.part.stop();
  await eventually('the end', () => one.ended() || undefined);
  await eventually('it is let go', () => (live.health().facts?.streams === 0 ? true : undefined));
});
