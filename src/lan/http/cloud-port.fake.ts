import { SitewardError } from '#errors.ts';
import type { CloudPathsPort } from './cloud-port.ts';

/** Site 4711, account 0815, one partition that obeys, one camera and one message on one speaker; no line. */
export function fakeCloudPaths(replaced: Partial<CloudPathsPort> = {}): CloudPathsPort {
  let status: 'armed' | 'disarmed' = 'disarmed';
  const pictures: Uint8Array[] = [];
  return {
    referencePath: () => '/ref/v1/sites/{account_reference_id}',
    isSite: (id) => ['4711', 'hq'].includes(id),
    isReference: (reference) => reference === '0815',
    isPartition: (id) => id === 'p1',
    isCamera: (id) => id === 'yard',
    messages: () => [
      {
        ...{ audio_message_id: 'front-gate', name: 'Front gate', description: '', duration_seconds: 2 },
        ...{ language: 'en-US', category: 'announcement' },
      },
    ],
    async play({ message, volume = 70, repeat = 1 }) {
      if (message !== 'front-gate')
        throw new SitewardError('audio_unknown', 'there is no such message', { facts: { field: 'audio_message_id' } });
      return {
        ...{ playback_id: 'play-0001', audio_message_id: message, status: 'playing', volume, repeat },
        started_at: '2026-11-27T22:03:00.000Z',
        devices: [{ device_id: 'gate', name: 'Gate', status: 'playing' }],
      };
    },
    partition: () => ({ status, ready: true, bypassed_zones: [] }),
    async command({ verb }) {
      status = verb === 'arm' ? 'armed' : 'disarmed';
      return { outcome: 'done' };
    },
    bypass: async () => ({ kind: 'given', answer: { outcome: 'done' }, left: [] }),
    async snapshot() {
      const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xd9);
      return { jpeg, id: `picture-${pictures.push(jpeg)}` };
    },
    picture: (id) => pictures[Number(id.split('-')[1]) - 1],
    dispatch: async () => ({ kind: 'offline' }),
    activity: async () => [],
    ...replaced,
  };
}
