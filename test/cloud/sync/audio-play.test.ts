import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SitewardError } from '#errors.ts';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { playbackShown } from '#site/model/index.ts';
import { until } from '../../harness/until.ts';
import { json, lineTo, scripted } from '../support.ts';
import { type AudioRig, apiKey, audioRig } from './audio-rig.ts';

const { signal } = new AbortController();
let sandbox: SandboxCloud;
let siteId: string;
beforeAll(async () => {
  sandbox = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [],
    dealers: defaultSeed().dealers,
  });
  siteId = String(sandbox.sites()[0]?.site_id);
  sandbox.issueToken('api_key', { lifetimeS: 3600, token: apiKey });
});
afterAll(() => sandbox.close());

const message = {
  ...{ audio_message_id: 'msg-intruder', name: 'Intruder', description: '', duration_seconds: 8 },
  ...{ language: 'en-US', category: 'alarm' as const },
};
let number = 0;
const wish = (more: object = {}) => {
  number += 1;
  return { playback_id: `playback-${number}`, message, volume: 40, repeat: 2, by: 'client:kp1', known: [], ...more };
};

async function started(more: Parameters<typeof audioRig>[1] = {}, url = sandbox.url): Promise<AudioRig> {
  const rig = audioRig(url, { siteId, ...more });
  onTestFinished(() => rig.end());
  await rig.start(signal);
  return rig;
}
const path = () => `/ext/v1/sites/${siteId}/audio-messages/msg-intruder/play`;
/** Play calls that came to the service. */
const calls = () => sandbox.log().filter((line) => line.path === path());

describe('a message that only the service holds', () => {
  it('is played by its play call, with volume and repeats; that it was heard is not claimed (S-171, S-176)', async () => {
    const rig = await started();
    const before = calls().length;
    const request = wish();
    const playback = await rig.play(request, signal);
    expect(playbackShown.parse(playback)).toMatchObject({
      ...{ playback_id: request.playback_id, audio_message_id: 'msg-intruder', status: 'playing' },
      ...{ volume: 40, repeat: 2, name: 'Intruder', requested_by: 'client:kp1' },
    });
    expect(playback.devices.length).toBeGreaterThan(0);
    for (const device of playback.devices) expect(device).toMatchObject({ status: 'playing', delivered: 'accepted' });
    expect(calls()).toHaveLength(before + 1);
    expect(calls().at(-1)?.note).toBe('message msg-intruder requested, volume 40, 2 times');
    expect(await rig.metric('siteward_audio_cloud_plays_total')).toBe(
      'siteward_audio_cloud_plays_total{outcome="accepted"} 1',
    );
  });

  it('is played on the devices that were asked for, which answer by their names on the site (S-173)', async () => {
    const rig = await started();
    const [device] = (await rig.play(wish(), signal)).devices;
    const id = device?.device_id ?? '';
    const known = [{ device_id: 'gate', name: 'Gate', cloud_device_id: id }];
    const playback = await rig.play(wish({ known, targets: [id] }), signal);
    expect(playback.devices).toMatchObject([{ device_id: 'gate', name: 'Gate', status: 'playing' }]);
  });

  it('is not played again by the same request, also while that is under way', async () => {
    const rig = await started();
    const before = calls().length;
    sandbox.plant({ path: path(), method: 'POST', mode: 'delay', delay_ms: 100 });
    const request = wish();
    const [one, other] = await Promise.all([rig.play(request, signal), rig.play(request, signal)]);
    expect(other).toBe(one);
    expect(await rig.play(request, signal)).toBe(one);
    expect(calls()).toHaveLength(before + 1);
  });

  it.each(['reset', 'garbage', 'status'] as const)(
    'whose answer was lost (%s) has failed and is not asked for again, though it may be heard (S-177)',
    async (mode) => {
      const rig = await started();
      const before = calls().length;
      sandbox.plant({ path: path(), method: 'POST', mode, when: 'after', ...(mode === 'status' && { status: 502 }) });
      const request = wish();
      const playback = await rig.play(request, signal);
      const reason = mode === 'reset' ? 'connection_lost' : 'device_error';
      expect(playbackShown.parse(playback)).toMatchObject({
        ...{ status: 'failed', devices: [{ device_id: 'cloud', status: 'failed', reason }] },
        summary: { failed: 1, total: 1 },
      });
      expect(await rig.play(request, signal)).toBe(playback);
      expect(calls()).toHaveLength(before + 1);
      expect(await rig.metric('siteward_audio_cloud_plays_total')).toContain('outcome="lost"');
    },
  );

  it('is not asked for again after a restart in the midst of it', async () => {
    const server = await scripted((seen, response) => {
      if (seen.method === 'GET') json(response, 200, { data: { audio_messages: [], total_count: 0 } });
    });
    onTestFinished(() => server.close());
    const posts = () => server.seen.filter(({ method }) => method === 'POST').length;
    const rig = await started({}, server.url);
    const request = wish();
    const waiting = rig.play(request, signal).catch((error: unknown) => error);
    await until(() => posts() === 1, 'the play call');
    await rig.end();
    expect(await waiting).toBeInstanceOf(Error);
    const next = await started({ kept: rig.kept }, server.url);
    expect(await next.play(request, signal)).toMatchObject({ status: 'failed', devices: [{ reason: 'interrupted' }] });
    expect(posts()).toBe(1);
  });

  it('that the service plays is known to be so after a restart, and a kept list that is damaged is none', async () => {
    const rig = await started();
    const request = wish();
    const first = await rig.play(request, signal);
    await until(() => rig.kept.get('plays')?.includes('true'), 'the note on disk');
    await rig.end();
    const before = calls().length;
    const next = await started({ kept: rig.kept });
    expect(await next.play(request, signal)).toMatchObject({ status: 'playing', created_at: first.created_at });
    expect(calls()).toHaveLength(before);
    for (const damage of ['{', '[1]', '{"id":"x"}']) {
      const other = await started({ kept: new Map([['plays', damage]]) });
      expect(await other.play(wish(), signal)).toMatchObject({ status: 'playing' });
    }
  });

  it('keeps no more on disk than the memory takes', async () => {
    const server = await scripted((seen, response) =>
      json(response, 200, seen.method === 'GET' ? { data: { audio_messages: [] } } : { data: { status: 'playing' } }),
    );
    onTestFinished(() => server.close());
    const kept = new Map<string, string>();
    for (let run = 0; run < 5; run += 1) {
      const rig = await started({ kept }, server.url);
      for (let n = 0; n < 10; n += 1) await rig.play(wish({ playback_id: `${run}${n}`.padEnd(64, 'x') }), signal);
      await until(() => !kept.get('plays')?.includes('false'), 'the notes');
      await rig.end();
      expect(rig.lines.join('')).not.toContain('cannot be noted');
    }
    expect(JSON.parse(kept.get('plays') ?? '')).toHaveLength(30);
  });

  it.each([
    [401, 'cloud_unauthorized'],
    [404, 'cloud_not_found'],
    [429, 'cloud_unreachable'],
    [503, 'cloud_unreachable'],
  ])('that the service refuses (%i) is not played, once, and may be asked for anew', async (status) => {
    const rig = await started();
    const before = calls().length;
    const refusal = { path: path(), method: 'POST', mode: 'status', status, count: 1 } as const;
    sandbox.plant({ ...refusal, headers: { 'retry-after': '1' }, body: { error: { message: `key ${apiKey}` } } });
    const request = wish();
    const error = await rig.play(request, signal).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'audio_unavailable', facts: { status, field: 'audio_message_id' } });
    expect((error as SitewardError).message).toContain(String(status));
    expect(calls()).toHaveLength(before + 1);
    expect(JSON.stringify([rig.lines, (error as SitewardError).message])).not.toContain(apiKey);
    expect(await rig.play(request, signal)).toMatchObject({ status: 'playing' });
  });

  it('whose device the service does not know is refused with the reason', async () => {
    const rig = await started();
    await expect(rig.play(wish({ targets: ['999999'] }), signal)).rejects.toMatchObject({
      code: 'audio_unavailable',
      message: expect.stringContaining('target_devices'),
    });
  });

  it('without a way to the service is not played, now or when there is one again', async () => {
    const line = await lineTo(sandbox.url);
    onTestFinished(() => line.close());
    const rig = await started({}, line.url);
    await until(() => rig.messages() !== undefined, 'the messages of the service');
    await line.cut('refuses');
    const before = calls().length;
    const refused = rig.play(wish(), signal).catch((error: unknown) => error);
    // Whoever tried again would find somebody from then on.
    await Promise.race([refused, new Promise((resolve) => setTimeout(resolve, 1_000))]);
    await line.mend();
    expect(await refused).toMatchObject({ code: 'audio_unavailable' });
    expect(calls()).toHaveLength(before);
  });

  it('is asked for no more than ten times at once', async () => {
    const rig = await started();
    const before = calls().length;
    const all = await Promise.allSettled(Array.from({ length: 50 }, () => rig.play(wish(), signal)));
    const refused = all.filter((one) => one.status === 'rejected').map(({ reason }) => reason.code);
    expect(new Set(refused)).toEqual(new Set(['queue_full']));
    expect(calls().length - before).toBeLessThanOrEqual(10);
    expect(all.some(({ status }) => status === 'fulfilled')).toBe(true);
  });

  it('is told of whatever becomes of whoever asked', async () => {
    const rig = await started();
    sandbox.plant({ path: path(), method: 'POST', mode: 'delay', delay_ms: 100 });
    const caller = new AbortController();
    const request = wish();
    const asked = rig.play(request, caller.signal);
    caller.abort(new Error('gone'));
    await expect(asked).rejects.toThrow('gone');
    expect(await rig.find(request.playback_id)).toMatchObject({ status: 'playing' });
  });
});

describe('an odd answer to a play call', () => {
  it.each<[string, unknown]>([
    ['nothing', {}],
    ['no devices', { data: { status: 'playing', devices: [] } }],
    ['wrong types', { data: { status: 7, started_at: {}, devices: [{ device_id: 5, status: 'x', name: 3 }, 'x'] } }],
    ['a word nobody knows', { data: { status: 'dancing', devices: [{ device_id: 'a\u0000', name: 'b\r\nc' }] } }],
  ])('is one, and what can be told of it is: %s', async (_, body) => {
    const server = await scripted((seen, response) =>
      json(response, 200, seen.method === 'GET' ? { data: { audio_messages: [] } } : body),
    );
    onTestFinished(() => server.close());
    const rig = await started({}, server.url);
    const playback = await rig.play(wish(), signal);
    expect(playbackShown.parse(playback).status).toBe('playing');
    expect(JSON.stringify(playback)).not.toMatch(/\\[unr]/);
  });
});
