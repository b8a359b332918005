import { expect, it } from 'vitest';
import type { MirrorSite } from '#cloud/sync/index.ts';
import type { House } from '#daemon/house.ts';
import { siteHints } from '#daemon/site-hints.ts';
import { minimal, settings } from '../config/fixture.ts';

const cloud = `cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: bridge-1, private_key: { env: CODE_A } }
  partner: { client_id: partner-1, client_secret: { env: CODE_B } }
`;
const now = Date.UTC(2026, 10, 30, 6);

interface Case {
  readonly value?: MirrorSite;
  readonly stale?: boolean;
  readonly state?: string;
  readonly inStepAt?: number;
  readonly manual?: boolean;
}

function hints({ value, stale = false, state = 'behind', inStepAt, manual = false }: Case) {
  const read = { stale, readAt: now, ...(value !== undefined && { value }) };
  const shown = { state, ...(inStepAt !== undefined && { inStepAt }) };
  const devices = { shown: () => shown } as unknown as House['devices'];
  const file = minimal + cloud + (manual ? '  devices: manual\n' : '');
  return siteHints({ mirror: { site: () => read }, devices }, settings(file), now).map(({ about, text }) => [
    about,
    text,
  ]);
}
const timezone = 'Europe/Berlin';
const none = { has_physical_bridge: false, timezone };

it('says that the cloud does not count this bridge, and what to do', () => {
  expect(hints({ value: none })).toEqual([['cloud bridge', expect.stringContaining('siteward device plan')]]);
  expect(hints({ value: none, manual: true })).toEqual([
    ['cloud bridge', expect.stringContaining('siteward device sync')],
  ]);
  // Read after the cloud was seen to have it.
  expect(hints({ value: none, state: 'in_step', inStepAt: now - 1 })).toEqual([
    ['cloud bridge', expect.stringContaining('ask the operator')],
  ]);
});

it.each<[string, Case]>([
  ['is so', { value: { has_physical_bridge: true, timezone } }],
  ['is not told', { value: {} }],
  ['was read long ago', { value: { ...none, timezone: 'Asia/Tokyo' }, stale: true }],
  ['was never read', {}],
  ['was read before the bridge was registered', { value: none, state: 'in_step', inStepAt: now + 1 }],
])('says nothing where it %s', (_what, one) => {
  expect(hints(one)).toEqual([]);
});

it('says that the time zone of the cloud is another one, or none, and by which schedules run', () => {
  for (const [zone, words] of [
    ['Asia/Tokyo', 'another time zone'],
    ['', 'no time zone'],
  ] as const) {
    const [only, ...more] = hints({ value: { has_physical_bridge: true, timezone: zone } });
    expect(only).toEqual(['cloud timezone', expect.stringContaining(words)]);
    expect(only?.[1]).toContain(`siteward site set --timezone ${timezone}`);
    expect(more).toEqual([]);
  }
});
