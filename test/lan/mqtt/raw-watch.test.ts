import { afterEach, describe, expect, it } from 'vitest';
import { type Rig, root } from '../../system-input/rig.ts';
import { doorsClosed, kinds, listening, lookedAt, siteWith } from './bugcases.ts';
import { until } from './harness.ts';

describe.each(kinds)('a technician who watches a panel, on a site with %s', (broker) => {
  let rig: Rig;
  afterEach(() => rig?.close());

  const frames = () => rig.lan.heard.filter(({ topic }) => topic === 'panel/raw/sensors').map(({ payload }) => payload);
  const say = (text: string) =>
    rig.lan.publish('zigbee2mqtt/hall', JSON.stringify({ contact: true, text, code: '48270391' }));

  it('sees what its bridge says, masked, until it ends, and no more after a restart', async () => {
    rig = await siteWith(broker);
    await rig.lan.client.subscribeAsync(`${root}/panel/raw/+`, { qos: 0 });
    await say('before');
    expect(await rig.lan.command('watch', { panel: 'kitchen', minutes: 5 })).toMatchObject({
      error: { code: 'UNKNOWN_TARGET', field: 'panel' },
    });
    expect(await rig.lan.command('watch', { panel: 'sensors', minutes: 11 })).toMatchObject({
      error: { code: 'SCHEMA', field: 'minutes' },
    });
    expect(await rig.lan.command('watch', { panel: 'sensors', minutes: 5 })).toMatchObject({ outcome: 'done' });
    await say('during');
    await until(() => frames().some((text) => text.includes('during')), 'a frame');
    expect(await rig.lan.command('watch', { panel: 'sensors', minutes: 0 })).toMatchObject({ outcome: 'done' });
    await say('after');
    expect(await rig.lan.command('watch', { panel: 'sensors', minutes: 5 })).toMatchObject({ outcome: 'done' });
    await rig.daemon.stop();
    await rig.start();
    await rig.lan.shows('status', 'online');
    await listening(rig);
    await say('restarted');
    await doorsClosed(rig);
    await lookedAt(rig);
    expect(frames().map((text) => /before|during|after|restarted/.exec(text)?.[0])).toEqual(['during']);
    expect(frames().join('')).not.toContain('48270391');
    const noted = (await rig.audit())
      .filter(({ action }) => action === 'watch')
      .map(({ target, after }) => [target, after]);
    const [five, none] = ['5 minutes', '0 minutes'].map((after) => ['panel sensors', after]);
    expect(noted.reverse()).toEqual([five, none, five]);
  });
});
