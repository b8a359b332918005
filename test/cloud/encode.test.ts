import { describe, expect, it } from 'vitest';
import { cloudEvent, encodeEvent, withTimes } from '#cloud/contract/index.ts';
import type { EventDraft, SiteEvent } from '#site/model/index.ts';
import { draftOf, identity, siteEventOf } from './support.ts';

const snapshot = (index: number) => ({ index, kind: 'snapshot', camera: 'yard', offsetMs: 0 }) as const;
const encode = (draft: Partial<EventDraft>, event: Partial<SiteEvent> = {}, more = {}) =>
  JSON.parse(encodeEvent(siteEventOf(5, event), draftOf(draft), { ...identity, ...more })) as Record<string, unknown>;

describe('the event members', () => {
  const cases: [member: string, why: string, draft: Partial<EventDraft>, value: unknown][] = [
    ['version', 'comes from the dialect', {}, '1.0'],
    ['location_id', 'is the site', {}, 'hq'],
    ['recorder_id', 'is the bridge', {}, 'sw-1'],
    ['camera_id', 'is the external id of the camera that saw it', { camera: 'yard' }, 'cam-ext-1'],
    ['camera_id', 'is the camera of the first picture for a door alarm', { media: [snapshot(0)] }, 'cam-ext-1'],
    ['camera_id', 'is empty for a camera without an external id', { camera: 'gate' }, ''],
    ['camera_id', 'is empty without a camera', {}, ''],
    ['event_id', 'is the id of the row', {}, '00000000-0000-5000-8000-000000000005'],
    ['event_type', 'is alarm for alarms', { class: 'alarm' }, 'alarm'],
    ['event_type', 'follows the class before the lane', { class: 'alarm', lane: 'activity' }, 'alarm'],
    ['event_type', 'is trouble for troubles', { class: 'trouble', lane: 'trouble' }, 'trouble'],
    ['event_type', 'is arming for arming', { class: 'arming', lane: 'arming' }, 'arming'],
    ['event_type', 'follows the lane for other classes', { class: 'camera', lane: 'alarm' }, 'alarm'],
    ['event_type', 'is arming for a bypass in the activity lane', { class: 'bypass', lane: 'activity' }, 'arming'],
    ['event_type', 'is arming for a command in the activity lane', { class: 'command', lane: 'activity' }, 'arming'],
    ['event_type', 'is arming for a test in the activity lane', { class: 'test', lane: 'activity' }, 'arming'],
    ['event_type', 'is alarm for a verification', { class: 'verification', lane: 'activity' }, 'alarm'],
    ['event_type', 'is trouble for a camera in the activity lane', { class: 'camera', lane: 'activity' }, 'trouble'],
    ['event_type', 'is trouble for audio in the activity lane', { class: 'audio', lane: 'activity' }, 'trouble'],
    ['event_type', 'is trouble for the system in the activity lane', { class: 'system', lane: 'activity' }, 'trouble'],
    ['event_status', 'is active while it lasts', { status: 'active' }, 'active'],
    ['event_status', 'is restored when it has ended', { status: 'restored' }, 'restored'],
    ['event_status', 'is restored when a person cancelled it', { status: 'cancelled' }, 'restored'],
    ['should_signal_to_monitoring_center', 'is what the core decided', { signalToStation: false }, false],
    ['upload_snapshot_count', 'counts pictures only', { media: [snapshot(0), snapshot(1)] }, 2],
    ['upload_snapshot_count', 'is 0 without a plan', {}, 0],
    ['upload_snapshot_count', 'is at most 50', { media: Array.from({ length: 60 }, (_, i) => snapshot(i)) }, 50],
    ['upload_short_mp4', 'is true for a short clip', { media: [{ ...snapshot(0), kind: 'short_mp4' }] }, true],
    ['upload_short_mp4', 'is false otherwise', { media: [{ ...snapshot(0), kind: 'event_mp4' }] }, false],
    ['upload_event_mp4', 'is true for an event clip', { media: [{ ...snapshot(0), kind: 'event_mp4' }] }, true],
    ['upload_event_mp4', 'is false otherwise', { media: [snapshot(0)] }, false],
  ];
  it.each(cases)('%s %s', (member, _why, draft, value) => {
    expect(encode(draft)[member]).toBe(value);
  });

  it('carry the public event as payload, unchanged', () => {
    expect(encode({}).payload).toEqual(siteEventOf(5));
  });

  it('take the words of the dialect for what has ended', () => {
    const statuses = { restored: 'closed', cancelled: 'aborted' };
    expect(encode({ status: 'restored' }, {}, { statuses }).event_status).toBe('closed');
    expect(encode({ status: 'cancelled' }, {}, { statuses }).event_status).toBe('aborted');
  });
});

describe('the two times', () => {
  const body = encodeEvent(siteEventOf(5), draftOf(), identity);

  it('make the fourteen members a strict server takes', () => {
    const whole = JSON.parse(withTimes(body, '2026-11-27T20:00:00.000Z', '2026-11-27T20:00:01.000Z'));
    expect(Object.keys(whole)).toHaveLength(14);
    expect(cloudEvent.safeParse(whole).error).toBeUndefined();
    expect(whole).toMatchObject({ event_time: '2026-11-27T20:00:00.000Z', sent_at: '2026-11-27T20:00:01.000Z' });
  });

  it('leave every other byte as it is', () => {
    expect(withTimes(body, 'a', 'b').endsWith(body.slice(1))).toBe(true);
  });

  it('are refused for what is not an encoded event', () => {
    expect(() => withTimes('[]', 'a', 'b')).toThrow(TypeError);
  });
});

describe('the strict event schema', () => {
  const good = JSON.parse(
    withTimes(encodeEvent(siteEventOf(5), draftOf(), identity), '2026-11-27T20:00:00Z', '2026-11-27T20:00:01Z'),
  );
  it.each(['version', 'location_id', 'event_id', 'event_type', 'event_time', 'sent_at'])('requires %s', (member) => {
    const issues = cloudEvent.safeParse({ ...good, [member]: undefined }).error?.issues;
    expect(issues?.map((issue) => [issue.path[0], issue.message])).toEqual([[member, 'is required']]);
  });
  it.each([
    ['upload_snapshot_count', '1'],
    ['upload_snapshot_count', 51],
    ['upload_snapshot_count', 1.5],
    ['should_signal_to_monitoring_center', 1],
    ['payload', []],
    ['event_type', ' '],
    ['event_time', '27.11.2026'],
    ['camera_id', null],
  ])('refuses %s = %j', (member, value) => {
    const issues = cloudEvent.safeParse({ ...good, [member]: value }).error?.issues;
    expect(issues?.map((issue) => issue.path[0])).toEqual([member]);
  });
  it('takes an unknown type, a null payload and members it does not know', () => {
    expect(cloudEvent.safeParse({ ...good, event_type: 'new', payload: null, more: 1 }).success).toBe(true);
  });
});
