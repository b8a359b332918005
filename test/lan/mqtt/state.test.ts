import { describe, expect, it } from 'vitest';
import { partitionDetail } from '../../../src/lan/mqtt/schemas.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { allTopics, detailOf } from '../../../src/lan/mqtt/state.ts';

const facts = { version: '0.1.0', bootId: '3f2b6c1e-8a4d-4c55-9b1e-0d6f7a2c9e10', cloudUp: true };

describe('the state of a site as topics', () => {
  const topicsOf = (site = fakeSite()) => new Map(allTopics(site.view(), facts));
  it('says nothing of a zone that was never heard, and null in its detail', () => {
    const site = fakeSite();
    site.setZone('1', { open: null });
    expect(topicsOf(site).get('zone/1/state')).toBe('');
    expect(JSON.parse(topicsOf(site).get('zone/1/detail') ?? '')).toMatchObject({ open: null });
  });

  it('says of a detector that tells no more than its alarm that it has tripped, or is closed once it said so', () => {
    const site = fakeSite();
    const [first, ...others] = site.view().plan.zones;
    if (first === undefined) throw new Error('no zone');
    site.setPlan({ zones: [{ ...first, type: 'fire' }, ...others] });
    const shows = () => {
      const topics = topicsOf(site);
      const { open } = JSON.parse(topics.get('zone/1/detail') ?? '');
      return [topics.get('zone/1/state'), open, JSON.parse(topics.get('partition/p1/detail') ?? '').open_zones];
    };
    site.setZone('1', { open: null });
    expect(shows()).toEqual(['', null, []]);
    site.setZone('1', { heard: true });
    expect(shows()).toEqual(['OFF', false, []]);
    site.setZone('1', { alarm: true });
    expect(shows()).toEqual(['ON', true, ['1']]);
  });

  it('is ready beside a panel only while nothing stands open, and what is bypassed does not count', () => {
    const site = fakeSite();
    const ready = () => JSON.parse(topicsOf(site).get('partition/p1/detail') ?? '').ready;
    expect(ready()).toBe(true);
    site.setZone('1', { open: true });
    expect(ready()).toBe(false);
    site.setZone('1', { bypassed: true });
    expect(ready()).toBe(true);
  });

  it("is ready under siteward's own engine when the engine says so", () => {
    const view = fakeSite().view();
    const [plan] = view.plan.partitions;
    if (plan === undefined) throw new Error('no partition');
    const engine = { ...plan, authority: 'engine' as const };
    expect(detailOf({ ...view, ready: { p1: true } }, engine).ready).toBe(true);
    expect(detailOf({ ...view, ready: { p1: false } }, engine).ready).toBe(false);
    expect(detailOf(view, engine).ready).toBe(false);
  });

  it('shows the abort window, shut zones and the walk test of a partition only while there are any', () => {
    const view = fakeSite().view();
    const [plan] = view.plan.partitions;
    if (plan === undefined) throw new Error('no partition');
    for (const name of ['abort_left_s', 'shut_zones', 'test']) expect(detailOf(view, plan)).not.toHaveProperty(name);
    const test = { leftS: 90, walked: ['1'], missing: ['2', '3'] };
    const more = { delays: { p1: { abortLeftS: 20 } }, shut: { p1: ['2'] }, tests: { p1: test } };
    const detail = detailOf({ ...view, ...more }, plan);
    expect(detail).toMatchObject({
      abort_left_s: 20,
      shut_zones: ['2'],
      test: { left_s: 90, walked: ['1'], missing: ['2', '3'] },
    });
    expect(partitionDetail.safeParse(detail).success).toBe(true);
  });

  it('shows a failed arming, one that waits, and since when a fire lasts, in what the schema allows', () => {
    const view = fakeSite().view();
    const [plan] = view.plan.partitions;
    const [state] = view.partitions;
    if (plan === undefined || state === undefined) throw new Error('no partition');
    for (const name of ['not_armed', 'arm_wait']) expect(detailOf(view, plan)).not.toHaveProperty(name);
    const detail = detailOf(
      {
        ...view,
        partitions: [{ ...state, alarm: { kind: 'fire', zone: '1', since: 500 } }],
        unarmed: { p1: { schedule: 'night', at: 900, reason: 'late' } },
        armWaits: { p1: { schedule: 'noon', leftS: 4.2 } },
      },
      plan,
    );
    expect(detail).toMatchObject({
      alarm: { kind: 'fire', zone: '1', since: '1970-01-01T00:00:00.500Z' },
      not_armed: { schedule: 'night', at: '1970-01-01T00:00:00.900Z', reason: 'late' },
      arm_wait: { schedule: 'noon', left_s: 5 },
    });
    expect(partitionDetail.safeParse(detail).success).toBe(true);
  });

  it('calls a partition nobody has spoken of unknown, stale and not ready', () => {
    const site = fakeSite();
    const view = { ...site.view(), partitions: [] };
    const topics = new Map(allTopics(view, facts));
    expect(topics.get('partition/p1/state')).toBe('unknown');
    expect(topics.get('partition/p1/availability')).toBe('offline');
    expect(JSON.parse(topics.get('partition/p1/detail') ?? '')).toMatchObject({ stale: true, ready: false });
  });

  it('shows a panel that was never heard as offline', () => {
    const view = { ...fakeSite().view(), links: [] };
    const topics = new Map(allTopics(view, facts));
    expect(topics.get('link/panel/main')).toBe('offline');
    expect(topics.get('partition/p1/availability')).toBe('offline');
  });
});
