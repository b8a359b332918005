import { expect } from 'vitest';
import { done, refused } from './answers.ts';
import { aDealer } from './fixtures.ts';
import { send } from './http.ts';
import { conformance } from './server.ts';
import { startSandbox } from './target.ts';

const service = conformance();
const { rule, call } = service;

rule('S-021 there is no rate limit until one is set', async () => {
  const { path, token } = await aDealer(service);
  service.need(service.target().own || undefined, 'would load a service that is not ours');
  const answers = await Promise.all(Array.from({ length: 200 }, () => call('GET', path, { token })));
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
});

rule('S-021 faults are planted through the control path: a status, a delay, a connection that drops', async () => {
  const { path, token } = await aDealer(service);
  const plant = (fault: object) => service.control('POST', '/faults', { path, ...fault });
  await plant({ mode: 'status', status: 503, headers: { 'retry-after': '1' } });
  const answer = await call('GET', path, { token });
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  await plant({ mode: 'delay', delay_ms: 20 });
  done(await call('GET', path, { token }));
  await plant({ mode: 'reset' });
  await expect(call('GET', path, { token })).rejects.toThrow();
  done(await call('GET', path, { token }));
});

rule('S-021 without its flag there is no control path', async () => {
  service.need(service.target().own || undefined, needsOwn);
  const plain = await startSandbox([]);
  try {
    for (const path of ['log', 'faults', 'tokens', 'dealers', 'reset']) {
      refused(await send('GET', `${plain.url}/__sandbox/${path}`), 404);
      refused(await send('POST', `${plain.url}/__sandbox/${path}`, { json: {} }), 404);
    }
  } finally {
    await plain.stop();
  }
});

const needsOwn = 'needs a sandbox this suite starts itself';
