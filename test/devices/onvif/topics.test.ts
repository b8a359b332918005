import { describe, expect, it } from 'vitest';
import { createNormaliser } from '#devices/onvif/normalise.ts';
import { readNotifications } from '#devices/onvif/notification.ts';
import type { TopicRow } from '#devices/onvif/topic-row.ts';
import { topicFinder, topicTable } from '#devices/onvif/topics.ts';
import { parseXml } from '#lib/xml.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import { detections } from './harness.ts';
import { motion, notification, soap } from './scripted-camera.ts';

const read = (...texts: string[]) => readNotifications(parseXml(soap(texts.join(''))));

function normaliser(own: readonly TopicRow[] = []) {
  const made = createNormaliser({ sourceOf: () => ({ kind: 'camera', id: 'yard' }), wall: () => 5, own });
  let now = 1_000_000;
  return {
    ...made,
    holdsBack: () => made.holdsBack,
    subscribe: () => made.subscribed(now),
    pass(ms: number) {
      now += ms;
    },
    see(...texts: string[]) {
      now += 1000;
      return short(made.take(read(...texts), now).signals);
    },
    expireAfter(ms: number) {
      now += ms;
      return short(made.expire(now));
    },
  };
}

const short = (signals: readonly Signal[]) =>
  detections(signals).map(
    ({ detection, active, pulse, replay }) =>
      `${detection}${pulse ? '!' : active ? '+' : '-'}${replay ? ' replay' : ''}`,
  );

type Parts = Parameters<typeof notification>[0];
const note = (topic: string, data: Record<string, string>, more: Partial<Parts> = {}) =>
  notification({ topic, operation: 'Changed', data, ...more });

describe('the topic text', () => {
  it.each([
    ['tns1:VideoSource/MotionAlarm', 'VideoSource/MotionAlarm'],
    ['\n   tns1:VideoSource/MotionAlarm\n  ', 'VideoSource/MotionAlarm'],
    ['tns1:VideoSource/MotionAlarm/', 'VideoSource/MotionAlarm'],
    ['tns1:VideoSource/MotionAlarm//.', 'VideoSource/MotionAlarm'],
    ['tns1:VideoSource/tns1:Device/Trigger/DigitalInput', 'VideoSource/Device/Trigger/DigitalInput'],
    ['tns1:VideoSource//MotionAlarm', 'VideoSource/MotionAlarm'],
    ['', ''],
    ['tns1:Device/Trigger/tnshik:AlarmIn', 'Device/Trigger/tnshik:AlarmIn'],
  ])('%j is read as %j', (raw, topic) => {
    expect(read(notification({ topic: raw }))[0]?.topic).toBe(topic);
  });

  it('is told by its namespace, whatever the prefix', () => {
    const text = `<m xmlns:n="http://docs.oasis-open.org/wsn/b-2"><n:NotificationMessage xmlns:q="http://www.onvif.org/ver10/topics" xmlns:ax="http://www.axis.com/2009/event/topics"><n:Topic>q:Device/ax:IO/Port</n:Topic></n:NotificationMessage></m>`;
    expect(readNotifications(parseXml(text))[0]?.topic).toBe('Device/tnsaxis:IO/Port');
  });
});

describe('core topics', () => {
  const cases: [string, Record<string, string>, Partial<Parts>, string[]][] = [
    ['tns1:VideoSource/MotionAlarm', { State: 'true' }, { source: { Source: '000' } }, ['motion+']],
    ['tns1:VideoSource/MotionAlarm', { IsMotion: '1' }, {}, ['motion+']],
    ['tns1:RuleEngine/CellMotionDetector/Motion', { Value: 'True' }, {}, ['motion+']],
    ['tns1:RuleEngine/CellMotionDetector/Motion', { Extra: 'x', IsMotion: 'true' }, {}, ['motion+']],
    ['tns1:RuleEngine/MotionRegionDetector/Motion', { State: '1' }, {}, ['motion+']],
    ['tns1:RuleEngine/TamperDetector/Tamper', { IsTamper: 'true' }, {}, ['tamper+']],
    ['tns1:RuleEngine/FieldDetector/ObjectsInside', { IsInside: 'true' }, { key: { ObjectId: '1' } }, ['intrusion+']],
    [
      'tns1:RuleEngine/FieldDetector/ObjectsInside',
      { IsInside: 'true' },
      { source: { Rule: 'Human' } },
      ['intrusion+', 'person+'],
    ],
    [
      'tns1:RuleEngine/FieldDetector/ObjectsInside',
      { IsInside: 'true' },
      { source: { Rule: 'Vehicle' } },
      ['intrusion+', 'vehicle+'],
    ],
    ['tns1:RuleEngine/LineDetector/Crossed', { ObjectId: '7' }, {}, ['line!']],
    ['tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering', { ObjectId: '7' }, {}, ['loitering!']],
    ['tns1:RuleEngine/X/ObjectAbandoned', { ObjectId: '7' }, {}, ['object_left!']],
    ['tns1:RuleEngine/X/ObjectRemoved', { ObjectId: '7' }, {}, ['object_removed!']],
    ['tns1:RuleEngine/Recognition/LicensePlate', {}, {}, ['vehicle!']],
    ['tns1:RuleEngine/Recognition/Face', {}, {}, ['face!']],
    ['tns1:RuleEngine/ObjectDetection/Object', { ClassTypes: 'Human Vehicle' }, {}, ['person+', 'vehicle+']],
    ['tns1:RuleEngine/ObjectDetection/Object', { ClassTypes: '' }, {}, []],
    ['tns1:VideoSource/GlobalSceneChange/ImagingService', { State: '1' }, {}, ['tamper+']],
    ['tns1:VideoSource/ImageTooDark/AnalyticsService', { State: 'true' }, {}, ['image_quality+']],
    ['tns1:VideoSource/ImageTooBright/RecordingService', { State: 'true' }, {}, ['image_quality+']],
    ['tns1:VideoSource/ImageTooBlurry/ImagingService', { State: 'true' }, {}, ['image_quality+']],
    ['tns1:VideoSource/SignalLoss', { State: 'true' }, {}, ['video_loss+']],
    ['tns1:VideoSource/SignalLoss/AnalyticsService', { State: 'true' }, {}, ['video_loss+']],
    ['tns1:VideoSource/ImpairedVisibility', { State: 'true' }, {}, ['image_quality+']],
    ['tns1:AudioAnalytics/Audio/DetectedSound', { IsSoundDetected: 'true' }, {}, ['sound+']],
    ['tns1:Device/Trigger/DigitalInput', { LogicalState: 'active' }, { source: { InputToken: '1' } }, ['input+']],
    ['tns1:VideoSource/tns1:Device/Trigger/DigitalInput', { LogicalState: 'true' }, {}, ['input+']],
    ['tns1:Device/Trigger/Relay', { LogicalState: 'active' }, { source: { RelayToken: '1' } }, ['relay+']],
    ['tns1:Device/Trigger/tnshik:AlarmIn', { State: 'true' }, { source: { AlarmInToken: '1' } }, ['input+']],
    ['tns1:Device/Trigger/tnsn:AlarmIn', { State: 'true' }, { source: { AlarmInToken: '1' } }, ['input+']],
    ['tns1:Device/HardwareFailure/StorageFailure', { Failed: 'true' }, {}, ['storage_fault+']],
    ['tns1:Device/HardwareFailure/FanFailure', { Failed: 'true' }, {}, ['hardware_fault+']],
    ['tns1:Device/HardwareFailure/TemperatureCritical', { Critical: 'true' }, {}, ['hardware_fault+']],
    ['tns1:Device/HardwareFailure', { State: 'true' }, {}, ['hardware_fault+']],
    ['tns1:Device/HardwareFailure/tnshik:HardDiskFull', {}, { source: { HardDiskNo: '1' } }, ['storage_fault!']],
    ['tns1:Device/tnshik:Network/EthernetBroken', {}, {}, ['network_fault!']],
    ['tns1:Device/tnsn:Network/IPAddrConflict', {}, {}, ['network_fault!']],
    ['tns1:UserAlarm/tnshik:IllegalAccess', {}, {}, ['access!']],
    ['tns1:Device/SecurityPolicy/AuthFailed', {}, {}, ['access!']],
    ['tns1:Device/OperationMode/ShutdownInitiated', {}, {}, ['system!']],
    ['tns1:Monitoring/ProcessorUsage', { Value: '1' }, {}, []],
    ['tns1:Monitoring/Backup/Last', { Status: '2026-01-01T00:00:00Z' }, {}, []],
    ['tns1:RecordingConfig/JobState', { State: 'Active' }, {}, ['recording+']],
    ['tns1:RecordingHistory/Recording/State', { IsRecording: 'true' }, {}, ['recording+']],
    ['tns1:RecordingHistory/Track/State', { IsDataPresent: 'true' }, {}, []],
    ['tns1:Media/ProfileChanged', { Token: '1' }, {}, []],
    ['tns1:Configuration/Profile', { Token: '1' }, {}, []],
    ['tns1:MediaControl/VideoEncoderConfiguration', {}, {}, []],
    ['tns1:AccessControl/AccessGranted/Credential', {}, {}, ['access!']],
    ['tns1:EventBuffer/Begin', {}, {}, []],
  ];
  it.each(cases)('%s with %j is understood', (topic, data, more, expected) => {
    expect(normaliser().see(note(topic, data, more))).toEqual(expected);
  });

  it('stand in the table once each', () => {
    const names = topicTable.map((row) => row.topic);
    expect(new Set(names).size).toBe(names.length);
    expect(topicFinder()('VideoSource/Unheard')).toBeUndefined();
  });
});

describe('the states of a camera', () => {
  it('make one motion of the two topics that report it', () => {
    const camera = normaliser();
    const alarm = (on: boolean) =>
      note('tns1:VideoSource/MotionAlarm', { State: String(on) }, { source: { Source: '000' } });
    expect(camera.see(motion(true), alarm(true))).toEqual(['motion+']);
    expect(camera.see(motion(false))).toEqual([]);
    expect(camera.see(alarm(false))).toEqual(['motion-']);
  });

  it('are edges only, however often a camera repeats itself', () => {
    const camera = normaliser();
    expect(camera.see(motion(false), motion(false), motion(false))).toEqual(['motion-']);
    expect(camera.see(motion(true), motion(true))).toEqual(['motion+']);
  });

  it('that were there before the subscription are knowledge, not events', () => {
    const camera = normaliser();
    expect(camera.see(motion(true, 'Initialized'))).toEqual(['motion+ replay']);
    expect(camera.see(motion(true, 'Initialized'))).toEqual([]);
    expect(camera.see(motion(false, 'Initialized'))).toEqual(['motion- replay']);
    const crossed = note('tns1:RuleEngine/LineDetector/Crossed', { ObjectId: '0' }, { operation: 'Initialized' });
    expect(camera.see(crossed)).toEqual(['line! replay']);
  });

  it('that began while the subscription was made anew are edges', () => {
    const camera = normaliser();
    camera.see(motion(false));
    camera.subscribe();
    expect(camera.see(motion(true, 'Initialized'))).toEqual(['motion+']);
  });

  it('that a camera tells with its first answer are none, however late that comes', () => {
    const camera = normaliser();
    camera.subscribe();
    camera.pass(25_000);
    const tamper = note('tns1:RuleEngine/TamperDetector/Tamper', { IsTamper: 'true' }, { operation: 'Initialized' });
    expect(camera.see(tamper)).toEqual(['tamper+ replay']);
    camera.subscribe();
    camera.expireAfter(25_000);
    camera.expireAfter(10_000);
    expect(camera.see(note('tns1:RuleEngine/LineDetector/Crossed', {}, { operation: 'Initialized' }))).toEqual([
      'line!',
    ]);
  });

  it('that are created long after the subscription are news: another object, another crossing', () => {
    const camera = normaliser();
    camera.see(motion(false, 'Initialized'));
    camera.expireAfter(10_000);
    const field = note(
      'tns1:RuleEngine/FieldDetector/ObjectsInside',
      { IsInside: 'true' },
      { operation: 'Initialized', key: { ObjectId: '9' } },
    );
    const crossed = note('tns1:RuleEngine/LineDetector/Crossed', { ObjectId: '9' }, { operation: 'Initialized' });
    expect(camera.see(field, crossed)).toEqual(['intrusion+', 'line!']);
  });

  it('end when their source is deleted', () => {
    const camera = normaliser();
    camera.see(motion(true));
    expect(camera.see(motion(true, 'Deleted'))).toEqual(['motion-']);
  });

  it('last until the last of several objects has left', () => {
    const camera = normaliser();
    const inside = (id: string, on: boolean) =>
      note(
        'tns1:RuleEngine/FieldDetector/ObjectsInside',
        { IsInside: String(on) },
        { source: { Rule: 'R' }, key: { ObjectId: id } },
      );
    expect(camera.see(inside('1', true), inside('2', true), inside('1', false))).toEqual(['intrusion+']);
    expect(camera.see(inside('2', false))).toEqual(['intrusion-']);
  });

  it('of two inputs are two things', () => {
    const camera = normaliser();
    const input = (token: string, on: boolean) =>
      note('tns1:Device/Trigger/DigitalInput', { LogicalState: String(on) }, { source: { InputToken: token } });
    expect(camera.see(input('1', true), input('2', true), input('1', false))).toEqual(['input+', 'input+', 'input-']);
  });

  it('change class with the words the camera sends', () => {
    const camera = normaliser();
    const topic = 'tnsaxis:CameraApplicationPlatform/ObjectAnalytics/Device1Scenario1';
    expect(camera.see(note(topic, { classTypes: 'human', active: '1', objectId: '1' }))).toEqual([
      'intrusion+',
      'person+',
    ]);
    // The end need not name what it ends.
    expect(camera.see(note(topic, { active: '0' }))).toEqual(['intrusion-', 'person-']);
    const ajax = (words: string) => note('tns1:RuleEngine/ObjectDetection/Object', { ClassTypes: words });
    expect(camera.see(ajax('Human Animal'))).toEqual(['person+', 'animal+']);
    expect(camera.see(ajax('Human'))).toEqual(['animal-']);
    expect(camera.see(ajax(''))).toEqual(['person-']);
  });

  it('take the class from the name of the item where one topic carries several', () => {
    const camera = normaliser();
    const smart = (data: Record<string, string>) => note('tns1:RuleEngine/TPSmartEventDetector/TPSmartEvent', data);
    expect(camera.see(smart({ IsPet: 'true' }), smart({ IsVehicle: 'true' }))).toEqual(['animal+', 'vehicle+']);
    expect(camera.see(smart({ IsPet: 'false' }))).toEqual(['animal-']);
  });

  it('that never end are given up as unknown, which is no edge; what can last does', () => {
    const camera = normaliser();
    camera.see(motion(true), note('tns1:RuleEngine/TamperDetector/Tamper', { IsTamper: 'true' }));
    expect(camera.expireAfter(9 * 60_000)).toEqual([]);
    expect(camera.expireAfter(60_000)).toEqual(['motion- replay']);
    expect(camera.expireAfter(24 * 3_600_000)).toEqual([]);
    expect(camera.see(motion(true))).toEqual(['motion+']);
  });

  it('that were given up are not believed until the camera tells something new', () => {
    const camera = normaliser();
    camera.see(motion(true));
    expect(camera.expireAfter(600_000)).toEqual(['motion- replay']);
    camera.reset();
    camera.subscribe();
    expect(camera.see(motion(true, 'Initialized'))).toEqual([]);
    expect(camera.see(motion(false, 'Initialized'))).toEqual(['motion- replay']);
    expect(camera.see(motion(true, 'Initialized'))).toEqual(['motion+']);
  });

  it('that the camera repeats do not grow old', () => {
    const camera = normaliser();
    camera.see(motion(true));
    camera.expireAfter(590_000);
    camera.see(motion(true));
    expect(camera.expireAfter(590_000)).toEqual([]);
  });

  it('tell of a reboot when the time of the last one has changed', () => {
    const camera = normaliser();
    const boot = (time: string) =>
      note('tns1:Monitoring/OperatingTime/LastReboot', { Status: time }, { operation: 'Initialized' });
    expect(camera.see(boot('10-05-2025T22:41:27Z'), boot('10-05-2025T22:41:27Z'))).toEqual([]);
    expect(camera.see(boot('2026-11-27T20:00:00Z'))).toEqual(['system!']);
  });

  it('hold back what comes in a flood, and tell the end of it', () => {
    const camera = normaliser();
    const flood = Array.from({ length: 400 }, (_, at) => motion(at % 2 === 0));
    const told = camera.see(...flood, motion(true));
    expect(told.length).toBeLessThanOrEqual(60);
    const last = [...told, ...camera.expireAfter(1000)].at(-1);
    expect(last).toMatch(/^motion\+/);
  });

  it('of a large recorder are no flood when it tells how things stand, and are bounded like one all the same', () => {
    const made = createNormaliser({ sourceOf: () => ({ kind: 'nvr', id: 'rec' }), wall: () => 5 });
    const present = (topic: string, data: Record<string, string>, source: Record<string, string>) =>
      notification({ topic, operation: 'Initialized', source, data });
    const inputs = (on: (n: number) => boolean) =>
      Array.from({ length: 120 }, (_, n) =>
        present('tns1:Device/Trigger/Relay', { LogicalState: on(n) ? 'active' : 'inactive' }, { RelayToken: `R${n}` }),
      );
    const all = made.take(read(...inputs((n) => n % 2 === 0)), 1000);
    expect(all.signals).toHaveLength(120);
    expect(all.outcomes).not.toContain('flood');
    const restless = Array.from({ length: 20 }, (_, n) => inputs(() => n % 2 === 0)).flat();
    const more = made.take(read(...restless), 2000);
    expect(more.signals.length).toBeLessThan(200);
    expect(more.outcomes).toContain('flood');
  });

  it('in a flood of noise leave room for what matters, and no crossing is lost', () => {
    const camera = normaliser();
    const noise = Array.from({ length: 400 }, (_, at) => note(`jeff:Noise/${at % 7}`, { Text: 'x' }));
    expect(camera.see(...noise, motion(true)).at(-1)).toBe('motion+');
    const crossed = note('tns1:RuleEngine/LineDetector/Crossed', { ObjectId: '1' });
    const told = camera.see(
      ...Array.from({ length: 200 }, () => note('tns1:RuleEngine/Recognition/Face', {})),
      crossed,
    );
    expect(camera.holdsBack()).toBe(true);
    expect([...told, ...camera.expireAfter(1000)]).toContain('line!');
    camera.expireAfter(1000);
    expect(camera.holdsBack()).toBe(false);
  });

  const seen = (what: string) => note('tns1:RuleEngine/ObjectDetection/Object', { ClassTypes: what });

  it('of one class in a flood do not hide another, in one answer or over several', () => {
    const camera = normaliser();
    const flood = Array.from({ length: 400 }, (_, at) => motion(at % 2 === 0));
    expect(camera.see(...flood, seen('Human'), seen('')).slice(-2)).toEqual(['person+', 'person-']);
    camera.see(...flood);
    expect(camera.see(...flood, seen('Human')).at(-1)).toBe('person+');
    expect(camera.see(...flood, seen('')).at(-1)).toBe('person-');
  });

  it('held back by their own flood and over by then are told as a pulse, once', () => {
    const camera = normaliser();
    const flood = Array.from({ length: 400 }, (_, at) => motion(at % 2 === 0));
    camera.see(...flood, ...Array.from({ length: 20 }, (_, at) => seen(at % 2 === 0 ? 'Vehicle' : '')));
    expect(camera.holdsBack()).toBe(true);
    expect(camera.expireAfter(1000)).toEqual(['motion!', 'vehicle!']);
    expect(camera.holdsBack()).toBe(false);
    expect(camera.expireAfter(1000)).toEqual([]);
  });

  it('held back are told after an outage as well, what had not ended by then and crossings too', () => {
    const flood = Array.from({ length: 400 }, (_, at) => motion(at % 2 === 0));
    const vehicles = Array.from({ length: 20 }, (_, at) => seen(at % 2 === 0 ? 'Vehicle' : ''));
    const crossings = Array.from({ length: 50 }, () => note('tns1:RuleEngine/LineDetector/Crossed', { ObjectId: '1' }));
    for (const last of ['', 'Vehicle']) {
      const camera = normaliser();
      camera.see(...flood, ...vehicles, seen(last), ...crossings);
      camera.reset();
      expect(camera.holdsBack()).toBe(true);
      expect(camera.expireAfter(10_000).toSorted()).toEqual(['line!', 'motion!', 'vehicle!']);
      expect(camera.holdsBack()).toBe(false);
      expect(camera.expireAfter(1000)).toEqual([]);
    }
  });

  it('held back and told as present then are no replay: nobody knows of their beginning', () => {
    const flood = Array.from({ length: 400 }, (_, at) => motion(at % 2 === 0));
    const vehicles = Array.from({ length: 20 }, (_, at) => seen(at % 2 === 0 ? 'Vehicle' : ''));
    const present = notification({
      topic: 'tns1:RuleEngine/ObjectDetection/Object',
      operation: 'Initialized',
      data: { ClassTypes: 'Vehicle' },
    });
    const camera = normaliser();
    camera.see(...flood, ...vehicles, seen('Vehicle'));
    camera.reset();
    camera.subscribe();
    expect(camera.see(present)).toEqual(['vehicle+']);
  });

  it('safety 1: in a flood an input waits for nothing, however short it is pressed', () => {
    const camera = normaliser();
    const button = (on: boolean) =>
      note('tns1:Device/Trigger/DigitalInput', { LogicalState: String(on) }, { source: { InputToken: 'DI1' } });
    camera.see(button(false));
    const flood = Array.from({ length: 400 }, (_, at) => motion(at % 2 === 0));
    const told = camera.see(...flood, button(true), button(false), button(true), ...flood);
    expect(told.filter((one) => one.startsWith('input'))).toEqual(['input+', 'input-', 'input+']);
    const pressed = notification({ topic: 'tns1:Mine/Button', source: { InputToken: 'DI2' }, data: {} });
    const own = normaliser([{ topic: 'Mine/Button', kind: 'pulse', detection: 'input', token: ['InputToken'] }]);
    expect(own.see(...flood, pressed).at(-1)).toBe('input!');
  });

  it('of more objects than can be kept end when the last one of all has left', () => {
    const camera = normaliser();
    const inside = (id: number, on: boolean) =>
      note('tns1:RuleEngine/FieldDetector/ObjectsInside', { IsInside: String(on) }, { key: { ObjectId: String(id) } });
    camera.see(note('tns1:RuleEngine/TamperDetector/Tamper', { IsTamper: 'true' }));
    expect(camera.see(...Array.from({ length: 2000 }, (_, id) => inside(id, true)))).toEqual(['intrusion+']);
    expect(camera.see(...Array.from({ length: 1999 }, (_, id) => inside(id, false)))).toEqual([]);
    expect(camera.see(inside(1999, false))).toEqual(['intrusion-']);
  });
});

describe('topics the table does not know', () => {
  it('survive as "other", with what they carried, in a bounded list', () => {
    const camera = normaliser();
    expect(camera.see(note('jeff:This/Rule', { State: 'true' }, { source: { Source: '000' } }))).toEqual(['other+']);
    expect(camera.see(note('jeff:This/Rule', { State: 'false' }, { source: { Source: '000' } }))).toEqual(['other-']);
    expect(camera.see(note('jeff:Words', { A: 'b' }))).toEqual(['other!']);
    expect(camera.unknownTopics()[0]).toEqual({
      topic: 'jeff:This/Rule',
      count: 2,
      items: 'Source=000 State=false',
      lastAt: 5,
      line: '- { topic: "jeff:This/Rule", class: other, data: "State" }',
    });
    for (let at = 0; at < 500; at += 1) camera.see(note(`jeff:T${at}`, { A: 'b' }));
    expect(camera.unknownTopics().length).toBe(100);
  });
});

describe('several sources behind one device', () => {
  /** Tokens of channels this device has; the rest is the device's own. */
  function recorder(channels: Record<string, string>) {
    const sourceOf = ({ source }: { source: Readonly<Record<string, string>> }): DeviceRef => {
      const id = channels[source.VideoSourceConfigurationToken ?? ''];
      return id === undefined ? { kind: 'nvr', id: 'rec' } : { kind: 'camera', id };
    };
    const made = createNormaliser({ sourceOf, wall: () => 5 });
    let now = 1_000_000;
    const told = (signals: readonly Signal[]) =>
      detections(signals).map((one, at) => `${one.source.id} ${short(signals)[at]}`);
    return {
      see(...texts: string[]) {
        now += 1000;
        return told(made.take(read(...texts), now).signals);
      },
      expire(ms: number) {
        now += ms;
        return told(made.expire(now));
      },
      remap: () => told(made.remap(now)),
    };
  }

  const moves = (token: string, on: boolean) =>
    note(
      'tns1:RuleEngine/CellMotionDetector/Motion',
      { IsMotion: String(on) },
      { source: { VideoSourceConfigurationToken: token } },
    );

  it('have states of their own: two motions are two things', () => {
    const nvr = recorder({ a: 'door', b: 'yard' });
    expect(nvr.see(moves('a', true), moves('b', true))).toEqual(['door motion+', 'yard motion+']);
    expect(nvr.see(moves('a', false), moves('a', false))).toEqual(['door motion-']);
    expect(nvr.see(moves('c', true))).toEqual(['rec motion+']);
    expect(nvr.expire(600_000)).toEqual(['yard motion- replay', 'rec motion- replay']);
  });

  it('do not take the room of one that floods', () => {
    const nvr = recorder({ a: 'door', b: 'yard' });
    nvr.see(...Array.from({ length: 400 }, (_, at) => moves('a', at % 2 === 0)));
    expect(nvr.see(moves('b', true))).toEqual(['yard motion+']);
  });

  it('take with them what is on when the messages turn out to mean another', () => {
    const channels: Record<string, string> = { b: 'yard' };
    const nvr = recorder(channels);
    expect(nvr.see(moves('a', true), moves('b', true), moves('c', false))).toEqual(['rec motion+', 'yard motion+']);
    channels.a = 'door';
    expect(nvr.remap()).toEqual(['rec motion- replay', 'door motion+ replay']);
    expect(nvr.remap()).toEqual([]);
    expect(nvr.see(moves('a', false), moves('b', false))).toEqual(['door motion-', 'yard motion-']);
  });

  it('take with them what a flood held back, as news of the one that is meant, and only of that', () => {
    const of = (token: string) => ({ source: { VideoSourceConfigurationToken: token } });
    const vehicle = (on: boolean) =>
      note('tns1:RuleEngine/ObjectDetection/Object', { ClassTypes: on ? 'Vehicle' : '' }, of('a'));
    const line = note('tns1:RuleEngine/LineDetector/Crossed', { ObjectId: '1' }, of('a'));
    for (const on of [true, false]) {
      const channels: Record<string, string> = {};
      const nvr = recorder(channels);
      const flood = Array.from({ length: 400 }, (_, at) => moves('b', at % 2 === 0));
      nvr.see(...flood, ...Array.from({ length: 20 }, (_, at) => vehicle(at % 2 !== 0)), vehicle(on));
      nvr.see(...flood, ...Array.from({ length: 50 }, () => line));
      channels.a = 'door';
      const told = [...nvr.remap(), ...nvr.expire(10_000)];
      expect(told.filter((one) => one.startsWith('door')).toSorted()).toEqual(
        on ? ['door line!', 'door vehicle!', 'door vehicle+'] : ['door line!', 'door vehicle!'],
      );
      expect(told.filter((one) => /^rec (line|vehicle)/.test(one) && !one.endsWith(' replay'))).toEqual([]);
    }
  });
});
