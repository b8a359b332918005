import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { planted, type Rig, startRig } from './rig.ts';

/** What nobody can read any more is never taken for disarmed. */
const partitions = 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]\n';
const sections = `users: [ { id: anna, name: Anna, code: { env: CODE } } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, name: Window, key: window, partition: p1 } }
`;

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

/** Each leaves nothing of the arming in `site.db`. */
const losses: readonly (readonly [what: string, lose: (path: string) => void])[] = [
  ['is gone', (path) => rmSync(path)],
  ['is empty', (path) => writeFileSync(path, '')],
  ['is something else', (path) => writeFileSync(path, Buffer.alloc(65_536, 0xa5))],
];

describe('a start on a store that', () => {
  it.each(losses)(
    '%s: the arming is unknown, an intrusion goes up, and only a code says that it is disarmed',
    {
      timeout: 90_000,
    },
    async (_, lose) => {
      const site = await startRig({ broker: 'embedded', cloud: false, partitions, sections });
      rig = site;
      const { lan } = site;
      await lan.publish('zigbee2mqtt/window', '{"contact":true}');
      await lan.shows('zone/1/state', 'OFF');
      expect(await lan.command('arm', { partition: 'p1', mode: 'away' })).toMatchObject({ outcome: 'done' });
      await site.daemon.stop();
      const state = join(site.folder, 'state');
      for (const name of readdirSync(state)) if (/^site\.db-/.test(name)) rmSync(join(state, name));
      lose(join(state, 'site.db'));
      await site.start();
      await lan.shows('partition/p1/state', 'unknown');
      expect((await site.status()).troubles).toMatchObject([{ kind: 'system' }]);
      expect(await lan.command('disarm', { partition: 'p1' })).toMatchObject({ error: { code: 'CODE_REQUIRED' } });
      expect(await lan.command('disarm', { partition: 'p1', code: '11112222' })).toMatchObject({
        error: { code: 'BAD_CODE' },
      });
      await lan.publish('zigbee2mqtt/window', '{"contact":true}');
      await lan.publish('zigbee2mqtt/window', '{"contact":false}');
      await eventually('the alarm', () => lan.heard.find(({ topic }) => topic === 'event/alarm'));
      expect(lan.topics.get('partition/p1/state')).toBe('unknown');
      expect(await lan.command('disarm', { partition: 'p1', code: planted.code })).toMatchObject({ outcome: 'done' });
      await lan.shows('partition/p1/state', 'disarmed');
      await eventually('the end of the trouble', async () =>
        (await site.status()).troubles.length === 0 ? true : undefined,
      );
    },
  );
});
