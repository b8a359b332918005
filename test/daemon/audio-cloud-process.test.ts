import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { type Site, startSite } from '../harness/site.ts';
import { until } from '../harness/until.ts';

const apiKey = 'api-key-which-nobody-sees';
let sandbox: SandboxCloud;
let siteId: string;
beforeAll(async () => {
  sandbox = await startCloud({ listen: { host: '127.0.0.1', port: 0 }, clients: [], dealers: defaultSeed().dealers });
  siteId = String(sandbox.sites()[0]?.site_id);
  sandbox.issueToken('api_key', { lifetimeS: 3600, token: apiKey });
});
afterAll(() => sandbox.close());

const calls = () => sandbox.log().filter((line) => line.path.endsWith('/msg-intruder/play'));
const catalogue = async (site: Site) => JSON.stringify(await site.api('/api/v1/audio/messages'));

describe('a daemon whose service holds messages', () => {
  it('plays one through it, once, also over a crash and the same command again; its key stands in no line', async () => {
    const site = await startSite({
      broker: 'embedded',
      siteYaml: `id: "${siteId}"`,
      cloudYaml: `  ext_base_url: ${sandbox.url}\n  api_key: { env: CLOUD_AUDIO_KEY }\n`,
      env: { CLOUD_AUDIO_KEY: apiKey },
      yaml: () => 'partitions: [ { id: p1, name: Shop } ]\naudio: { via_cloud: true }\nlog: { level: debug }\n',
    });
    onTestFinished(() => site.close());
    const lan = await site.watch('kp1');
    const command = () => {
      const id = randomUUID();
      return { id, issued_at: new Date().toISOString(), reply_to: `${site.root}/reply/kp1/${id}` };
    };
    const ask = async (body: ReturnType<typeof command>) => {
      const before = lan.replies.filter(({ reply }) => reply.id === body.id).length;
      await lan.publish(`${site.root}/cmd/play`, JSON.stringify({ ...body, audio_message_id: 'msg-intruder' }));
      const replies = () => lan.replies.filter(({ reply }) => reply.id === body.id);
      return until(() => replies()[before]?.reply, 'the reply');
    };
    // At its start it reads the list within seconds.
    await until(async () => (await catalogue(site)).includes('msg-intruder'), 'the messages of the service');

    const played = command();
    expect(await ask(played)).toMatchObject({ outcome: 'done', data: { playback: { status: 'playing' } } });
    expect(calls()).toHaveLength(1);

    sandbox.plant({ path: `/ext/v1/sites/${siteId}/*`, method: 'POST', mode: 'reset', when: 'after' });
    const lost = command();
    expect(await ask(lost)).toMatchObject({ outcome: 'failed', error: { code: 'AUDIO_UNAVAILABLE' } });
    expect(calls()).toHaveLength(2);

    const lines = [...site.daemon.lines()];
    await site.daemon.kill();
    await site.daemon.restart();
    // The list of before is there, and what was asked for is known.
    expect(await ask(played)).toMatchObject({ outcome: 'done', data: { playback: { status: 'playing' } } });
    expect(await ask(lost)).toMatchObject({ outcome: 'failed' });
    expect(calls()).toHaveLength(2);
    const said = [...lines, ...site.daemon.lines()].join('\n');
    expect(said).toContain('msg-intruder');
    expect(said).not.toContain(apiKey);
  }, 120_000);
});
