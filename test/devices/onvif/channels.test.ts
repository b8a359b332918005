import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apart, type Binding, bind, type Identity, nextRoster } from '#devices/onvif/bindings.ts';
import { channelNumbers, claimOf as claimFor } from '#devices/onvif/channels.ts';
import { createLosses } from '#devices/onvif/losses.ts';
import { type Notification, readNotifications } from '#devices/onvif/notification.ts';
import type { Profile, VideoSource } from '#devices/onvif/reads.ts';
import { topicFinder } from '#devices/onvif/topics.ts';
import { type Topology, topologyOf } from '#devices/onvif/topology.ts';
import { parseXml } from '#lib/xml.ts';
import { notification, soap } from './scripted-camera.ts';

/** A device with one profile for each `token source configuration analytics`. */
function device(sources: readonly string[], profiles: readonly string[]) {
  const listed: VideoSource[] = sources.map((token) => ({ token }));
  const made: Profile[] = profiles.map((text) => {
    const [token = '', source = '', configuration = '', analytics] = text.split(' ');
    return { token, name: token, source, configuration, ...(analytics !== undefined && { analytics }) };
  });
  return topologyOf(listed, made);
}

const find = topicFinder();
const claimOf = (...[topology, message, roster]: [Topology, Notification, string[]]) =>
  claimFor(topology, message, roster, find);

const motionTopic = 'tns1:RuleEngine/CellMotionDetector/Motion';
const message = (source: Record<string, string>, topic = motionTopic) => {
  const [read] = readNotifications(parseXml(soap(notification({ topic, source, data: { State: 'true' } }))));
  if (read === undefined) throw new Error('no message');
  return read;
};

const hikvision = device(
  ['VideoSourceToken001', 'VideoSourceToken002'],
  [
    'ProfileToken002 VideoSourceToken002 VSC002 VAC002',
    'ProfileToken001 VideoSourceToken001 VSC001 VAC001',
    'ProfileToken003 VideoSourceToken001 VSC001 VAC001',
  ],
);
const dahua = device(
  ['VideoSource000', 'VideoSource001', 'VideoSource002'],
  [
    'MediaProfile00000 VideoSource000 00000',
    'MediaProfile00001 VideoSource000 00000',
    'MediaProfile00100 VideoSource001 00100',
    'MediaProfile00200 VideoSource002 00200',
  ],
);
const oem = device(
  ['00000', '00100'],
  ['00000 00000 00000 00000', '00001 00000 00000 00000', '00100 00100 00100 00100'],
);
const tvt = device(['V1', 'V2', 'V3'], ['p1 V1 00000', 'p2 V2 00100', 'p3 V3 00200']);
const uniview = device(['src0', 'src1'], ['media_profile1 src0 vsc0 shared', 'media_profile2 src1 vsc1 shared']);
const xm = device([], ['profile_0_main s0 v0', 'profile_0_sub s0 v0', 'profile_1_main s1 v1']);
const reolink = device(['a', 'b'], ['main0 a x', 'main1 b y']);
const milestone = device(['6f2c-1', '6f2c-2'], ['9d-1 6f2c-1 c1', '9d-2 6f2c-2 c2']);
const emulator = device(['0_V', '1_V', '2_V', '3_V'], ['0_ProfileToken0 0_V 0_C', '3_ProfileToken1 3_V 3_C']);
const single = device(['VideoSource_1'], ['Profile_1 VideoSource_1 VideoSourceConfig VAC']);
const shuffled = device(['VideoSource_1', 'VideoSource_2'], ['p1 Other_1 c1', 'p2 Other_2 c2']);
const nothing = device([], []);

describe('which source a message is about', () => {
  it.each([
    ['1: the token of a source', hikvision, { VideoSourceToken: 'VideoSourceToken002' }, 'VideoSourceToken002 exact'],
    ['1: by Source', milestone, { Source: '6f2c-2' }, '6f2c-2 exact'],
    ['1: by VideoSource, as Axis and Bosch', emulator, { VideoSource: '3_V' }, '3_V exact'],
    ['2: its configuration', hikvision, { VideoSourceConfigurationToken: 'VSC002' }, 'VideoSourceToken002 exact'],
    [
      '2: Dahua: 00100 is the configuration of the second',
      dahua,
      { VideoSourceConfigurationToken: '00100' },
      'VideoSource001 exact',
    ],
    ['2: TVT: Source names a configuration', tvt, { Source: '00200' }, 'V3 exact'],
    ['1 and 2: the same word, as OEM', oem, { VideoSourceConfigurationToken: '00100' }, '00100 exact'],
    ['3: its analytics', hikvision, { VideoAnalyticsConfigurationToken: 'VAC001' }, 'VideoSourceToken001 exact'],
    ['3: not where all have the same analytics', uniview, { VideoAnalyticsConfigurationToken: 'shared' }, undefined],
    ['4: a profile', uniview, { Source: 'media_profile2' }, 'src1 exact'],
    ['4: sources only known from profiles', xm, { VideoSourceToken: 'profile_1_main' }, 's1 exact'],
    [
      'before analytics, the configuration',
      uniview,
      { VideoSourceConfigurationToken: 'vsc1', VideoAnalyticsConfigurationToken: 'x' },
      'src1 exact',
    ],
    ['5: a special word with one source', single, { VideoSourceConfigurationToken: 'vsconf' }, 'VideoSource_1 exact'],
    ['5: Dahua cameras', single, { Source: 'VideoSourceMain' }, 'VideoSource_1 exact'],
    ['5: not with two', reolink, { Source: 'VideoSourceMain' }, undefined],
    ['6: Reolink: 001 is the second', reolink, { Source: '001' }, 'b guessed'],
    ['6: five digits: channel, then stream', reolink, { Source: '00100' }, 'b guessed'],
    ['6: not beyond the sources there are', reolink, { Source: '002' }, undefined],
    ['6: not where the tokens of the device look like that', oem, { Source: '00200' }, undefined],
    ['6: nor its configurations', dahua, { VideoSourceConfigurationToken: '00300' }, undefined],
    ['matched by order, as some Hikvision', shuffled, { VideoSourceConfigurationToken: 'c2' }, 'VideoSource_2 guessed'],
    ['7: nothing at all is never the first channel', hikvision, {}, undefined],
    ['7: an unknown token', hikvision, { Source: 'Else' }, undefined],
    ['7: a device that tells nothing', nothing, { Source: '000' }, undefined],
  ])('%s', (_, topology, source, expected) => {
    const claim = claimOf(
      topology,
      message(source as Record<string, string>),
      topology.sources.map(({ token }) => token),
    );
    expect(claim && `${claim.source} ${claim.how}`).toBe(expected);
  });

  it.each([
    'tns1:Device/Trigger/DigitalInput',
    'tns1:Device/Trigger/Relay',
    'tns1:Device/HardwareFailure/StorageFailure',
    'tns1:RecordingConfig/JobState',
  ])('8: %s is the device, whatever token it names', (topic) => {
    expect(claimOf(oem, message({ Source: '00000', Token: '00000' }, topic), ['00000', '00100'])).toBe(undefined);
  });

  it('6: a channel that is away does not make the others move up', () => {
    const { sources } = reolink;
    const left = { ...reolink, sources: sources.slice(1) };
    expect(claimOf(left, message({ Source: '001' }), ['a', 'b'])).toEqual({ source: 'b', how: 'guessed' });
    expect(channelNumbers(message({ Source: '001', Rule: '000' }))).toEqual(['001']);
  });

  const captures = join(import.meta.dirname, '../../../../shared/data/onvif-captures');
  it.skipIf(!existsSync(captures))(
    '../shared: the recorded messages of one-source cameras are all about that source',
    () => {
      const file = join(captures, 'protect-listener/cell_motion_camera_20260321/02-PullMessages-200.xml');
      const read = readNotifications(parseXml(readFileSync(file)));
      const oneSource = device(['00000'], ['00000 00000 00000 00000']);
      const claims = read.map((one) => `${one.topic} ${claimOf(oneSource, one, ['00000'])?.source ?? 'device'}`);
      expect(claims).toContain('RuleEngine/CellMotionDetector/Motion 00000');
      expect(claims).toContain('VideoSource/MotionAlarm 00000');
      expect(claims.filter((text) => text.startsWith('Monitoring/')).every((text) => text.endsWith(' device'))).toBe(
        true,
      );
    },
  );
});

describe('a channel stays what it was bound to', () => {
  const source = (token: string, position: number, name = `Cam ${token}`, resolution = '1920x1080') => ({
    ...{ token, position, name, resolution },
    profiles: [`${token}-main`],
  });
  const abc = ['A', 'B', 'C'].map((token, at) => source(token, at + 1));
  const roster = ['A', 'B', 'C'];
  const identity = (selector: string, token: string, name = `Cam ${token}`): Identity => ({
    ...{ selector, token, name, resolution: '1920x1080' },
  });
  const shown = ({ state, source }: Binding) => `${state}${source === undefined ? '' : ` ${source.token}`}`;
  const bySource = { id: 'x', source: 'B' };
  const byPosition = { id: 'x', position: 2 };
  const wasB = identity('source B', 'B');
  const wasSecond = identity('position 2', 'B');

  it.each([
    ['the first time, by source', bySource, abc, undefined, [], 'bound B'],
    ['the first time, by position', byPosition, abc, undefined, [], 'bound B'],
    ['the first time, and it is not there', { id: 'x', source: 'Z' }, abc, undefined, [], 'gone'],
    ['the same as before', bySource, abc, wasB, roster, 'bound B'],
    ['another place, the same token and name', bySource, [abc[1], abc[0], abc[2]], wasB, roster, 'bound B'],
    ['its own source is away', bySource, [abc[0], abc[2]], wasB, roster, 'gone'],
    [
      'a position does not move up when one before it is away',
      byPosition,
      [abc[1], abc[2]],
      wasSecond,
      roster,
      'bound B',
    ],
    ['a position whose own is away is not the next one', byPosition, [abc[0], abc[2]], wasSecond, roster, 'gone'],
    ['renamed by its owner', bySource, [abc[0], source('B', 2, 'Gate'), abc[2]], wasB, roster, 'bound B'],
    [
      'a new camera behind it',
      bySource,
      [abc[0], source('B', 2, 'Gate', '3840x2160'), abc[2]],
      wasB,
      roster,
      'bound B',
    ],
    [
      'its name is at another token now',
      bySource,
      [source('A', 1, 'New'), source('B', 2, 'Cam A'), source('C', 3, 'Cam B'), source('D', 4, 'Cam C')],
      wasB,
      roster,
      'doubtful',
    ],
    [
      'names tell nothing, one more source, another resolution',
      bySource,
      [source('A', 1, 'main'), source('B', 2, 'main', '640x480'), source('C', 3, 'main'), source('D', 4, 'main')],
      identity('source B', 'B', 'main'),
      roster,
      'doubtful',
    ],
    [
      'tokens given out anew, by source',
      bySource,
      ['P', 'Q', 'R'].map((token, at) => source(token, at + 1, `Cam ${roster[at]}`)),
      wasB,
      roster,
      'gone',
    ],
    [
      'tokens given out anew, by position, all else the same',
      byPosition,
      ['P', 'Q', 'R'].map((token, at) => source(token, at + 1, `Cam ${roster[at]}`)),
      wasSecond,
      roster,
      'bound Q',
    ],
    [
      'tokens given out anew, by position, in another order',
      byPosition,
      ['P', 'Q', 'R'].map((token, at) => source(token, at + 1, `Cam ${['B', 'C', 'A'][at]}`)),
      wasSecond,
      roster,
      'doubtful',
    ],
    [
      'tokens given out anew, and one more',
      byPosition,
      ['P', 'Q', 'R', 'S'].map((token, at) => source(token, at + 1, 'main')),
      identity('position 2', 'B', 'main'),
      roster,
      'doubtful',
    ],
    ['named anew by the installer', { id: 'x', position: 3 }, abc, wasB, roster, 'bound C'],
  ])('%s', (_, channel, sources, before, known, expected) => {
    const all = sources.flatMap((one) => one ?? []);
    const binding = bind(channel, all, before, known);
    expect(shown(binding)).toBe(expected);
    if (binding.state !== 'bound') expect(binding.reason).toMatch(/recorder|seems/);
  });

  it('of two channels that are one source, by token and by place, the second is in doubt', () => {
    const both = apart([bind(bySource, abc, undefined, []), bind({ id: 'y', position: 2 }, abc, undefined, [])]);
    expect(both.map(shown)).toEqual(['bound B', 'doubtful']);
    expect(both[1]?.reason).toBe('it is the same source as channel x');
  });

  it('the places of sources are kept while some are away', () => {
    expect(nextRoster([], abc)).toEqual(roster);
    expect(nextRoster(roster, [source('A', 1), source('C', 2)])).toEqual(roster);
    expect(nextRoster(roster, [...abc, source('D', 4)])).toEqual(['A', 'B', 'C', 'D']);
  });
});

describe('the loss of a picture', () => {
  const losses = () => {
    const made = createLosses(['a', 'b'], 30_000);
    const told = (now: number) =>
      made
        .due(now)
        .map((one) =>
          one.kind === 'detection' ? `${one.source.id}${one.active ? '+' : '-'}${one.replay ? ' replay' : ''}` : '',
        );
    return { ...made, told };
  };

  it('is told when it has lasted, and its end at once', () => {
    const all = losses();
    all.restart(0);
    expect(all.told(29_999)).toEqual([]);
    expect(all.told(30_000)).toEqual(['a- replay', 'b- replay']);
    expect(all.dueMs(30_000)).toBe(Number.POSITIVE_INFINITY);
    all.note('a', 'signal', true, 40_000);
    expect(all.dueMs(50_000)).toBe(20_000);
    expect(all.told(69_999)).toEqual([]);
    expect(all.told(70_000)).toEqual(['a+']);
    all.note('a', 'signal', false, 80_000);
    expect(all.told(80_000)).toEqual(['a-']);
  });

  it("that is short is nobody's business, and two causes are one loss", () => {
    const all = losses();
    all.restart(0);
    all.told(30_000);
    all.note('a', 'signal', true, 40_000);
    all.note('a', 'signal', false, 60_000);
    expect(all.told(200_000)).toEqual([]);
    all.note('b', 'signal', true, 200_000);
    all.note('b', 'gone', true, 220_000);
    all.note('b', 'signal', false, 225_000);
    expect(all.told(230_000)).toEqual(['b+']);
    expect(all.isLost('b')).toBe(true);
    all.note('b', 'gone', false, 300_000);
    expect(all.told(300_000)).toEqual(['b-']);
  });

  it('is told anew after the device was away, also its end', () => {
    const all = losses();
    all.restart(0);
    all.note('a', 'signal', true, 0);
    expect(all.told(30_000)).toEqual(['a+ replay', 'b- replay']);
    all.restart(100_000);
    expect(all.told(130_000)).toEqual(['a- replay', 'b- replay']);
  });
});
