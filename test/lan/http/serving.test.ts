import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { type Take, takeLater } from '#lan/http/serving.ts';

const log = pino({ level: 'silent' });
const open: (() => unknown)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** Answers with the body of the request. */
const echo: Take = (incoming, outgoing) => void incoming.pipe(outgoing);

async function listening(take: Take): Promise<string> {
  const server = createServer(take).listen(0, '127.0.0.1');
  open.push(() => server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const asked = (url: string, body: string) => fetch(url, { method: 'POST', body, headers: { connection: 'close' } });

describe('what takes requests is made later', () => {
  it('those that came before it are answered by it, their bodies whole, and it is made once', async () => {
    let made = 0;
    const { promise, resolve } = Promise.withResolvers<Take>();
    const { take } = takeLater(() => {
      made += 1;
      return promise;
    }, log);
    let heads = 0;
    const url = await listening((incoming, outgoing) => {
      heads += 1;
      take(incoming, outgoing);
    });
    const body = 'x'.repeat(500_000);
    const answers = [asked(url, body), asked(url, 'second')];
    while (heads < 2) await setImmediate();
    resolve(echo);
    expect(await Promise.all(answers.map(async (answer) => (await answer).text()))).toEqual([body, 'second']);
    expect(await (await asked(url, 'third')).text()).toBe('third');
    expect(made).toBe(1);
  });

  it('is made without a request, unless the listener ends first', async () => {
    const { promise: begun, resolve } = Promise.withResolvers<string>();
    const make = (name: string) => async () => {
      resolve(name);
      return echo;
    };
    const ended = new AbortController();
    takeLater(make('ended'), log).begin(ended.signal);
    ended.abort();
    takeLater(make('running'), log).begin(new AbortController().signal);
    expect(await begun).toBe('running');
  });

  it('that cannot be made is said with 500, and made for the next request', async () => {
    const takes = [Promise.reject(new Error('no such file')), Promise.resolve(echo)];
    for (const one of takes) one.catch(() => undefined);
    const { take } = takeLater(() => takes.shift() ?? Promise.resolve(echo), log);
    const url = await listening(take);
    expect((await asked(url, 'first')).status).toBe(500);
    expect(await (await asked(url, 'second')).text()).toBe('second');
  });
});
