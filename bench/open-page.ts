import { Client } from 'undici';
import { eventually } from '#sandbox/demo/processes.ts';
import type { BenchSite } from './site.ts';

const account = { id: 'bench', password: 'bench-walnut-ferry-quartz' };

/** What a browser asks for that has the page open: its files, then what the screen Now shows. */
const asked = [
  '/',
  '/api/v1/access/self',
  '/api/v1/status',
  '/api/v1/partitions',
  '/api/v1/zones',
  '/api/v1/events?limit=50',
];

/** Claims the bridge, logs in, loads the page and reads its stream of events, as a browser does that has it open. */
export async function openPage(site: BenchSite, address: string): Promise<{ close(): Promise<void> }> {
  const control = new Client('http://localhost', { socketPath: site.socket });
  const { body } = await control.request({ method: 'GET', path: '/api/v1/access/claim-code' });
  const { claim_code: code } = (await body.json()) as { claim_code: string };
  await control.close();
  const browser = new Client(address, { connect: { rejectUnauthorized: false }, pipelining: 1 });
  const stream = new Client(address, { connect: { rejectUnauthorized: false }, bodyTimeout: 0 });
  const cookie = await eventually('the claim', async () => {
    const answer = await browser.request({
      ...{ method: 'POST', path: '/api/v1/access/claim' },
      headers: { 'content-type': 'application/json', origin: address },
      body: JSON.stringify({ ...account, code, name: 'Bench', role: 'owner' }),
    });
    await answer.body.dump();
    return [answer.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0];
  });
  const headers = { cookie, 'sec-fetch-site': 'same-origin' };
  for (const path of asked) await (await browser.request({ method: 'GET', path, headers })).body.dump();
  const events = await stream.request({
    ...{ method: 'GET', path: '/api/v1/stream' },
    headers: { ...headers, accept: 'text/event-stream' },
  });
  if (events.statusCode !== 200) throw new Error(`the stream answered ${events.statusCode}`);
  events.body.resume().on('error', () => undefined);
  return {
    async close() {
      await stream.destroy();
      await browser.destroy();
    },
  };
}
