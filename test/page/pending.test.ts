import { describe, expect, test } from 'vitest';
import { entriesNow, fitted, keyOf, secretState, sectionNow, withChange } from '#lan/page/pending.ts';
import { applied, isSaved, rebased } from '#lan/page/rebase.ts';

const config = {
  site: { id: '4711', timezone: 'Europe/Berlin', name: 'Shop' },
  cloud: { base_url: 'https://a.example', events: { client_id: 'b', private_key: { file: '/k' } } },
  cameras: [
    { id: 'gate', url: 'http://192.0.2.1/onvif', zone: '1' },
    { id: 'yard', url: 'http://192.0.2.2/onvif' },
  ],
};
type Change = Parameters<typeof withChange>[1];
const all = (...changes: Change[]) => changes.reduce<readonly Change[]>((old, one) => withChange(old, one, config), []);
const site = (members: Record<string, unknown>): Change => ({ do: 'set', section: 'site', members });
const gate = (members: Record<string, unknown>): Change => ({ do: 'change', section: 'cameras', id: 'gate', members });
const remove = (id: string): Change => ({ do: 'remove', section: 'cameras', id });
const add = (entry: Record<string, unknown>): Change => ({ do: 'add', section: 'cameras', entry });

describe('changes that are collected', () => {
  test('of one section, or of one entry, are one; what is typed last counts', () => {
    expect(all(site({ name: 'A' }), gate({ zone: '2' }), site({ timezone: 'UTC' }), site({ name: 'B' }))).toEqual([
      site({ name: 'B', timezone: 'UTC' }),
      gate({ zone: '2' }),
    ]);
  });

  test('that come to nothing drop out, also where they are written in another order', () => {
    expect(all(site({ name: 'A' }), site({ name: 'Shop' }))).toEqual([]);
    expect(all(site({ dealer_id: null }))).toEqual([]);
    const events = { private_key: { file: '/k' }, client_id: 'b' };
    expect(all({ do: 'set', section: 'cloud', members: { events } })).toEqual([]);
    expect(all(site({ name: null }))).toEqual([site({ name: null })]);
  });

  test('of an entry that is new are a part of it, and taking it away leaves nothing', () => {
    const fresh = add({ id: 'door', url: 'http://192.0.2.3', zone: '3' });
    const named: Change = { do: 'change', section: 'cameras', id: 'door', members: { name: 'Door', zone: null } };
    expect(all(fresh, named)).toEqual([add({ id: 'door', url: 'http://192.0.2.3', name: 'Door' })]);
    expect(all(fresh, remove('door'))).toEqual([]);
  });

  test('of an entry that goes are no more, and another one may take its id', () => {
    const changes = all(gate({ zone: '2' }), remove('gate'), add({ id: 'gate', url: 'http://192.0.2.9' }));
    expect(changes.map(keyOf)).toEqual(['cameras/gate', 'cameras/+gate']);
    expect(changes[0]).toEqual(remove('gate'));
  });

  test('are looked at anew when the file was changed by somebody else', () => {
    const changes = all(site({ name: 'A', timezone: 'UTC' }), gate({ zone: '2' }), remove('yard'));
    const later = { ...config, site: { ...config.site, timezone: 'UTC' }, cameras: [config.cameras[0]] };
    expect(fitted(changes, later)).toEqual([site({ name: 'A' }), gate({ zone: '2' })]);
  });

  test('take nothing back that somebody else has changed beside them, also within a group or a list', () => {
    const cloud = (members: Record<string, unknown>): Change => ({ do: 'set', section: 'cloud', members });
    const rack = (...channels: object[]) => ({ id: 'rack', url: 'http://192.0.2.4', channels });
    const [one, two] = [
      { id: 'rack-1', source: 'a' },
      { id: 'rack-2', source: 'b', name: 'Old' },
    ];
    const before = { ...config, nvrs: [rack(one, two)] };
    const changes = [
      cloud({ base_url: null, events: { ...config.cloud.events, key_id: 'k1' }, partner: { client_id: 'p' } }),
      { ...gate({ channels: [{ ...one, zone: '7' }, two] }), section: 'nvrs', id: 'rack' } as Change,
    ];
    const events = { client_id: 'other', private_key: { file: '/k-2' } };
    const now = {
      ...before,
      cloud: { events },
      nvrs: [rack(one, { ...two, name: 'New' }, { id: 'rack-3', source: 'c' })],
    };
    expect(rebased(changes, before, now)).toEqual([
      cloud({ events: { ...events, key_id: 'k1' }, partner: { client_id: 'p' } }),
      {
        ...changes[1],
        members: {
          channels: [
            { ...one, zone: '7' },
            { ...two, name: 'New' },
            { id: 'rack-3', source: 'c' },
          ],
        },
      },
    ]);
    // Only what was typed is written, also where the group is gone; a key that was typed stays.
    const secret = { ...config.cloud.events, private_key: { secret: 'pem' } };
    expect(rebased([cloud({ events: secret })], config, { ...config, cloud: {} })).toEqual([
      cloud({ events: { private_key: { secret: 'pem' } } }),
    ]);
  });

  test('that were typed while others were being saved are for what was saved', () => {
    const fresh = { id: 'door', url: 'http://192.0.2.3', password: { secret: 's3cret' } };
    const sent = all(site({ name: 'A', timezone: 'UTC' }), add(fresh));
    const typed = [site({ name: 'B', timezone: 'UTC' }), add({ ...fresh, zone: '3' })];
    const now = {
      ...config,
      site: { ...config.site, name: 'A', timezone: 'UTC' },
      cameras: [...config.cameras, { ...fresh, password: { file: '/secrets/door' } }],
    };
    expect(rebased(typed, applied(config, sent), now)).toEqual([
      site({ name: 'B' }),
      { do: 'change', section: 'cameras', id: 'door', members: { zone: '3' } },
    ]);
  });

  test('are found in the file when the answer was lost, whatever else somebody changed meanwhile', () => {
    const key = { secret: 'pem' };
    const cloud: Change = {
      do: 'set',
      section: 'cloud',
      members: { events: { ...config.cloud.events, private_key: key } },
    };
    const changes = all(
      site({ name: 'A', id: null }),
      cloud,
      gate({ zone: null }),
      remove('yard'),
      add({ id: 'door' }),
    );
    const now = {
      site: { timezone: 'UTC', name: 'A' },
      cloud: { ...config.cloud, events: { ...config.cloud.events, private_key: { file: '/k-2' } } },
      cameras: [{ id: 'gate', url: 'http://192.0.2.1/onvif' }, { id: 'door' }, { id: 'new' }],
    };
    expect(isSaved(changes, config, now)).toBe(true);
    expect(isSaved(changes, config, config)).toBe(false);
    expect(isSaved([], config, config)).toBe(false);
    expect(isSaved(changes, config, { ...now, cloud: config.cloud })).toBe(false);
    expect(isSaved(changes, config, { ...now, site: { ...now.site, id: '4711' } })).toBe(false);
    expect(isSaved(changes, config, { ...now, cameras: [...now.cameras, { id: 'yard' }] })).toBe(false);
    expect(isSaved(changes, config, { ...now, cameras: now.cameras.filter(({ id }) => id !== 'door') })).toBe(false);
  });

  test('that were saved without an answer are not saved twice; a secret is not told back', () => {
    const fresh = add({ id: 'door', url: 'http://192.0.2.3', password: { secret: 's3cret' } });
    const recorder: Change = {
      ...{ do: 'add', section: 'nvrs' },
      entry: { id: 'rack', url: 'http://192.0.2.4', channels: [{ id: 'rack-1', source: 'a' }] },
    };
    const changes = all(fresh, recorder, remove('gate'), add({ id: 'gate', url: 'http://192.0.2.1/onvif', zone: '1' }));
    const withDoor = (door: object, channels: object[]) => ({
      ...config,
      cameras: [...config.cameras, { id: 'door', url: 'http://192.0.2.3', ...door }],
      nvrs: [{ id: 'rack', url: 'http://192.0.2.4', channels }],
    });
    const password = { file: '/secrets/door' };
    const saved = withDoor({ password }, [{ source: 'a', id: 'rack-1' }]);
    expect(fitted(changes, saved)).toEqual(changes.slice(2));
    expect(fitted(changes, withDoor({}, [{ source: 'b', id: 'rack-1' }]))).toEqual(changes);
    expect(fitted(changes, withDoor({ password, zone: '4' }, []))).toEqual(changes);
  });

  test('show in the fields as they would be', () => {
    const changes = all(site({ name: null, dealer_id: '7' }), gate({ zone: null, name: 'Gate' }), remove('yard'));
    expect(sectionNow(config, changes, 'site')).toEqual({ id: '4711', timezone: 'Europe/Berlin', dealer_id: '7' });
    expect(entriesNow(config, changes, 'cameras')).toEqual([
      { id: 'gate', entry: { id: 'gate', url: 'http://192.0.2.1/onvif', name: 'Gate' }, state: 'changed' },
      { id: 'yard', entry: config.cameras[1], state: 'removed' },
    ]);
    expect(sectionNow({}, [], 'cloud')).toEqual({});
  });
});

test('of a secret only this is known', () => {
  expect(secretState({ file: '/k' })).toBe('set');
  expect(secretState({ secret: 'text' })).toBe('new');
  expect(secretState(undefined)).toBe('unset');
});
