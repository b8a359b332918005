import { describe, expect, it, onTestFinished } from 'vitest';
import type { NvrOptions, Timing } from '#devices/onvif/index.ts';
import { never } from '#lib/wait.ts';
import type { Signal } from '#site/model/index.ts';
import { detections, type Harness, harness, links, until } from './harness.ts';
import { fault, notification, type ScriptedCamera, startCamera } from './scripted-camera.ts';
import {
  digitalInput,
  person,
  picture,
  type RecorderModel,
  recorderChannel,
  recorderModel,
  signalLoss,
} from './scripted-nvr.ts';

const channels: NvrOptions['channels'] = [
  { id: 'door', source: 'VideoSource_1' },
  { id: 'yard', source: 'VideoSource_2' },
  { id: 'third', position: 3, name: 'Third' },
];

/** Losses are told at once, and channels read again as soon as somebody asks for it. */
const hasty: Partial<Timing> = { lossAfterMs: 0, topologyAtLeastMs: 10, topologyEveryMs: 60_000 };

interface Site extends Harness {
  readonly camera: ScriptedCamera;
  readonly model: RecorderModel;
  said(): string[];
}

async function site(
  model: RecorderModel = recorderModel(),
  more: Partial<NvrOptions> = {},
  options: { timing?: Partial<Timing>; memory?: Map<string, string> } = {},
): Promise<Site> {
  const camera = await startCamera(model.script);
  const made = harness([], {
    nvrs: [{ id: 'rec', url: camera.url, channels, ...more }],
    timing: { ...hasty, ...options.timing },
    ...(options.memory !== undefined && { memory: options.memory }),
  });
  await made.cameras.start(never());
  onTestFinished(async () => {
    await made.cameras.stop();
    await camera.close();
  });
  return { ...made, camera, model, said: () => said(made.signals) };
}

const said = (signals: readonly Signal[]) =>
  signals.flatMap((one) => {
    if (one.kind === 'zone') return `zone ${one.zone} ${one.open ? 'open' : 'closed'}${one.replay ? ' replay' : ''}`;
    if (one.kind !== 'detection' || (one.detection === 'video_loss' && !one.active && one.replay)) return [];
    return `${one.source.kind}:${one.source.id} ${one.detection}${one.active ? '+' : '-'}${one.replay ? ' replay' : ''}`;
  });

const until2 = (one: Site, what: string) =>
  until(() => one.said().includes(what), `${what}, not ${one.said().join('; ')}`);
const status = (one: Site) => one.cameras.status()[0];
const channel = (one: Site, id: string) => status(one)?.channels?.find((each) => each.id === id);
const changed = notification({ topic: 'tns1:Media/ProfileChanged', source: { Token: 'x' } });

describe('the session of a recorder', () => {
  it('bug 64: is one: one subscription, and each channel says what is its own', async () => {
    const one = await site();
    await until(() => links(one.signals).length > 0, 'the link');
    expect(one.signals[0]).toMatchObject({ kind: 'link', source: { kind: 'nvr', id: 'rec' }, up: true });
    one.model.queue.push(person(2) + person(1), person(2, false), person(7));
    await until2(one, 'nvr:rec person+');
    expect(one.said()).toEqual([
      'camera:yard person+',
      'camera:door person+',
      'camera:yard person-',
      'nvr:rec person+',
    ]);
    expect(one.camera.count('CreatePullPointSubscription')).toBe(1);
    expect(links(one.signals)).toEqual([true]);
  });

  it('shows the recorder with its channels', async () => {
    const one = await site();
    await until(
      () => channel(one, 'third')?.stream !== undefined && status(one)?.identity?.mac !== undefined,
      'what it knows',
    );
    one.model.queue.push(person(2));
    await until2(one, 'camera:yard person+');
    expect(one.cameras.status().length).toBe(1);
    expect(status(one)).toMatchObject({
      kind: 'nvr',
      id: 'rec',
      host: '127.0.0.1',
      identity: { mac: '00:11:22:aa:bb:cc' },
      manufacturer: 'Example',
    });
    expect(status(one)?.hints).toBe(undefined);
    expect(status(one)?.channels).toMatchObject([
      { id: 'door', state: 'bound', source: 'VideoSource_1', position: 1, resolution: '1920x1080', mapping: 'exact' },
      { id: 'yard', lastEventAt: expect.any(Number) },
      {
        id: 'third',
        name: 'Third',
        source: 'VideoSource_3',
        position: 3,
        profiles: 2,
        stream: 'rtsp://127.0.0.1/stream/3',
      },
    ]);
    expect(channel(one, 'door')?.lastEventAt).toBe(undefined);
    expect(one.cameras.cameras.map(({ id }) => id)).toEqual(['door', 'yard', 'third']);
  });

  it('knows the channels before it takes the first event', async () => {
    const one = await site(recorderModel({ queue: [person(1, true, 'Initialized')] }));
    await until2(one, 'camera:door person+ replay');
    expect(one.said()).toEqual(['camera:door person+ replay']);
  });

  it('moves what is on to its channel when the recorder tells its channels only later', async () => {
    let refuses = true;
    const model = recorderModel({
      before: ({ operation }) =>
        refuses && /^Get(VideoSources|Profiles)$/.test(operation) ? fault('ActionNotSupported') : undefined,
    });
    const one = await site(model);
    one.model.queue.push(person(1));
    await until2(one, 'nvr:rec person+');
    refuses = false;
    await until2(one, 'camera:door person+ replay');
    expect(one.said()).toEqual(['nvr:rec person+', 'nvr:rec person- replay', 'camera:door person+ replay']);
  });

  it('bug 66: asks for no recordings, of which the first answer holds a part only', async () => {
    const one = await site();
    await until(() => channel(one, 'third')?.stream !== undefined, 'what it knows');
    one.model.queue.push(person(2));
    await until2(one, 'camera:yard person+');
    await one.cameras.snapshot('yard', never());
    const asked = one.camera.seen.map(({ operation }) => operation);
    expect(asked).toContain('GetProfiles');
    expect(asked.filter((operation) => /Recording|Find|Search|Replay/.test(operation))).toEqual([]);
  });

  it('stays at few requests while nothing happens', async () => {
    const one = await site(recorderModel({ holdMs: 200 }), {}, { timing: { firstPullMs: 200, emptyPullMs: 200 } });
    await until(() => channel(one, 'third')?.stream !== undefined, 'what it knows');
    const before = one.camera.seen.length;
    const since = () => one.camera.seen.slice(before).map(({ operation }) => operation);
    await until(() => since().filter((operation) => operation === 'PullMessages').length >= 3, 'three pulls');
    expect(since().filter((operation) => operation !== 'PullMessages')).toEqual([]);
  });
});

describe('a channel that is lost alone', () => {
  it('is told by SignalLoss of that channel, and by its end', async () => {
    const one = await site();
    await until(() => detections(one.signals).length === 3, 'what is so after the start');
    one.model.queue.push(signalLoss('VideoSource_2', true));
    await until2(one, 'camera:yard video_loss+');
    expect(channel(one, 'yard')?.state).toBe('no_signal');
    one.model.queue.push(signalLoss('VideoSource_2', false));
    await until2(one, 'camera:yard video_loss-');
    expect(one.said().length).toBe(2);
  });

  it('is told when the recorder lists it no more, and comes back by itself; the others keep their places', async () => {
    const one = await site();
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    const all = one.model.channels;
    one.model.channels = all.filter(({ source }) => source !== 'VideoSource_2');
    one.model.queue.push(changed);
    await until2(one, 'camera:yard video_loss+');
    expect(status(one)?.hints).toEqual(['channel yard is not there: the recorder lists no source VideoSource_2']);
    one.model.queue.push(person(3));
    await until2(one, 'camera:third person+');
    one.model.channels = all;
    one.model.queue.push(changed);
    await until2(one, 'camera:yard video_loss-');
    expect(links(one.signals)).toEqual([true]);
  });

  it('is not concluded from a list the recorder refuses for once', async () => {
    const one = await site(recorderModel({ channels: [1, 2, 3].map((number) => recorderChannel(number)) }));
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    let refused = 0;
    const { before } = one.model;
    one.model.before = (request, camera) => {
      if (request.operation !== 'GetVideoSources') return before?.(request, camera);
      refused += 1;
      return fault('ActionNotSupported');
    };
    // The profiles name the sources otherwise now.
    one.model.channels = [1, 2, 3].map((number) => recorderChannel(number, { source: `Other_${number}` }));
    one.model.queue.push(changed);
    await until(() => refused > 0, 'the refusal');
    one.model.queue.push(person(1));
    await until2(one, 'camera:door person+');
    expect(channel(one, 'third')?.state).toBe('bound');
  });

  it('waits for the time it must last', async () => {
    const one = await site(recorderModel(), {}, { timing: { lossAfterMs: 60_000 } });
    one.model.queue.push(signalLoss('VideoSource_2', true), person(1));
    await until2(one, 'camera:door person+');
    expect(one.said()).toEqual(['camera:door person+']);
  });
});

describe('a recorder that gives out its tokens anew', () => {
  /** A camera was put in front of the others: every token means another picture now. */
  const shifted = () =>
    Array.from({ length: 9 }, (_, at) => recorderChannel(at + 1, { name: at === 0 ? 'New' : `Cam ${at}` }));

  it("is noticed: events and pictures of doubtful channels are nobody else's, and the installer is told", async () => {
    const one = await site();
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    one.model.channels = shifted();
    one.model.queue.push(changed);
    await until(() => channel(one, 'yard')?.state === 'doubtful', 'the doubt');
    one.model.queue.push(person(2));
    await until2(one, 'nvr:rec person+');
    expect(one.said()).not.toContain('camera:yard person+');
    expect(status(one)?.hints?.join()).toContain('what was VideoSource_2 ("Cam 2") now seems to be VideoSource_3');
    await expect(one.cameras.snapshot('yard', never())).rejects.toThrow(/not certain/);
  });

  it('is noticed also when it happened while siteward was not running, and settled by another word of the installer', async () => {
    const memory = new Map<string, string>();
    const first = await site(recorderModel(), {}, { memory });
    await until(() => memory.has('onvif/roster/rec') && memory.has('onvif/channel/rec/third'), 'what is kept');
    await first.cameras.stop();
    const second = await site(recorderModel({ channels: shifted() }), {}, { memory });
    await until(() => channel(second, 'yard')?.state === 'doubtful', 'the doubt');
    await second.cameras.stop();
    const named: NvrOptions['channels'] = [{ id: 'yard', position: 3 }];
    const third = await site(recorderModel({ channels: shifted() }), { channels: named }, { memory });
    await until(() => channel(third, 'yard')?.state === 'bound', 'the channel');
    third.model.queue.push(person(3));
    await until2(third, 'camera:yard person+');
  });

  it('is noticed once the memory can be read, and nothing was written over it before', async () => {
    const memory = new Map<string, string>();
    const first = await site(recorderModel(), {}, { memory });
    await until(() => memory.has('onvif/roster/rec') && memory.has('onvif/channel/rec/third'), 'what is kept');
    await first.cameras.stop();
    const kept = [...memory].filter(([key]) => /roster|channel/.test(key));
    let fails = true;
    memory.get = (key) => {
      if (fails && /roster|channel/.test(key)) throw new Error('away');
      return Map.prototype.get.call(memory, key);
    };
    const second = await site(recorderModel({ channels: shifted() }), {}, { memory });
    await until(() => links(second.signals).includes(true), 'the link');
    await until(() => channel(second, 'yard')?.state === 'bound', 'the channels as they are now');
    expect([...memory].filter(([key]) => /roster|channel/.test(key))).toEqual(kept);
    fails = false;
    await until(() => channel(second, 'yard')?.state === 'doubtful', 'the doubt');
  });
});

describe('a recorder that names channel 000 in every event', () => {
  const zero = (number: string) =>
    notification({
      topic: 'tns1:RuleEngine/MyRuleDetector/PeopleDetect',
      operation: 'Changed',
      source: { Source: number },
      data: { State: 'true' },
    });

  it('is believed only when another number was seen', async () => {
    const one = await site();
    one.model.queue.push(zero('000'));
    await until2(one, 'nvr:rec person+');
    expect(status(one)?.hints?.join()).toContain('channel 000');
    const input = { topic: 'tns1:Device/Trigger/DigitalInput', operation: 'Changed', data: { LogicalState: 'true' } };
    one.model.queue.push(notification({ ...input, source: { Source: '001' } }));
    await until2(one, 'nvr:rec input+');
    expect(status(one)?.hints?.join()).toContain('channel 000');
    one.model.queue.push(zero('001'));
    await until2(one, 'camera:yard person+');
    await until2(one, 'camera:door person+ replay');
    expect(channel(one, 'yard')?.mapping).toBe('guessed');
    await until(() => status(one)?.hints === undefined, 'no hint');
  });
});

describe('contacts wired to a recorder', () => {
  const inputs: NvrOptions['inputs'] = {
    In_1: { zone: '41', zone_type: 'perimeter' },
    In_2: { zone: '42', zone_type: 'perimeter', normally: 'closed' },
    In_3: { zone: '43', zone_type: 'panic_silent' },
  };

  it('are zones; what is bound to none stays an input of the recorder', async () => {
    const one = await site(recorderModel(), { inputs });
    one.model.queue.push(digitalInput('In_1', false, 'Initialized') + digitalInput('In_2', true, 'Initialized'));
    one.model.queue.push(digitalInput('In_1', true) + digitalInput('In_2', false), digitalInput('In_9', true));
    await until2(one, 'nvr:rec input+');
    expect(one.said()).toEqual([
      'zone 41 closed replay',
      'zone 42 closed replay',
      'zone 41 open',
      'zone 42 open',
      'nvr:rec input+',
    ]);
    expect(one.signals.find((signal) => signal.kind === 'zone')?.source).toEqual({ kind: 'nvr', id: 'rec' });
  });

  it('safety 4: a silent button shows in no count and no list of messages', async () => {
    const one = await site(recorderModel(), { inputs });
    // Said again, as many devices do, it changes nothing.
    one.model.queue.push(digitalInput('In_3', true) + digitalInput('In_3', true) + person(1));
    await until2(one, 'zone 43 open');
    expect(one.cameras.recent('rec', 0)?.items.map(({ topic }) => topic)).toEqual([
      'tns1:UserAlarm/IVA/HumanShapeDetect',
    ]);
    expect(await one.metrics.metrics()).toContain('siteward_camera_messages_total{camera="rec",outcome="signal"} 1');
  });

  it('safety 4: nor under a topic that nobody knows, nor when it bounces', async () => {
    const one = await site(recorderModel(), { inputs });
    const unknown = digitalInput('In_3', true).replace('tns1:Device/Trigger/DigitalInput', 'tns1:Vendor/Button');
    const bounces = Array.from({ length: 120 }, (_, at) => digitalInput('In_3', at % 2 === 0)).join('');
    one.model.queue.push(unknown + bounces, person(1));
    await until2(one, 'camera:door person+');
    expect(one.said().filter((line) => !line.startsWith('zone 43'))).toEqual(['camera:door person+']);
    expect(one.cameras.status()[0]).toMatchObject({ warnings: [], unknownTopics: [] });
    expect(await one.metrics.metrics()).not.toContain('event_flood');
  });
});

describe('pictures of channels', () => {
  const bytes = async (one: Site, id: string) => Buffer.from((await one.cameras.snapshot(id, never())).bytes);

  it('come from the profile of each, one at a time', async () => {
    const one = await site(recorderModel({ pictureMs: 40 }));
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    const all = await Promise.all(['door', 'yard', 'third'].map((id) => bytes(one, id)));
    expect(all.map((each) => each.equals(Buffer.from(picture(1 + all.indexOf(each)))))).toEqual([true, true, true]);
    expect(one.model.mostPictures).toBe(1);
  });

  it('tell who waits for one when the recorder is asked for it', async () => {
    const one = await site(recorderModel({ pictureMs: 40 }));
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    const turns: string[] = [];
    const [first, ...others] = ['door', 'yard', 'third'].map((id) =>
      one.cameras.snapshot(id, never(), { onTurn: () => turns.push(id) }),
    );
    await first;
    expect(turns).toContain('door');
    expect(turns).not.toContain('third');
    await Promise.all(others);
    expect(turns).toEqual(['door', 'yard', 'third']);
  });

  it.each(['/channel.jpg?channel={}', '/channel.jpg?channel={}&amp;stream=0'])(
    'of one shared address are told apart by its channel: %s',
    async (shared) => {
      const one = await site(recorderModel({ shared }));
      await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
      expect((await bytes(one, 'third')).equals(Buffer.from(picture(3)))).toBe(true);
      expect((await bytes(one, 'door')).equals(Buffer.from(picture(1)))).toBe(true);
    },
  );

  it('of one shared address without a channel are refused rather than mixed up', async () => {
    const one = await site(recorderModel({ shared: '/channel/1' }));
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    await expect(bytes(one, 'third')).rejects.toThrow(/snapshot_url/);
  });

  it('of one shared address are not mixed up either while the recorder cannot be asked for another', async () => {
    const model = recorderModel({ shared: '/channel.jpg?channel={}' });
    const ordinary = model.script;
    let isCut = true;
    model.script = (request, camera) =>
      isCut && request.operation === 'GetSnapshotUri' && request.body.includes('Profile_101')
        ? { reset: true }
        : ordinary(request, camera);
    const one = await site(model);
    await until(() => channel(one, 'third')?.state === 'bound', 'the channels');
    await expect(bytes(one, 'third')).rejects.toMatchObject({ code: 'camera_unreachable' });
    isCut = false;
    expect((await bytes(one, 'third')).equals(Buffer.from(picture(3)))).toBe(true);
  });

  it('come from the configured address, where there is one', async () => {
    const model = recorderModel();
    const camera = await startCamera(model.script);
    onTestFinished(() => camera.close());
    const base = `http://127.0.0.1:${camera.port}`;
    const one = await site(model, {
      channels: [{ id: 'door', source: 'VideoSource_1', snapshot_url: `${base}/channel/5` }],
    });
    expect((await bytes(one, 'door')).equals(Buffer.from(picture(5)))).toBe(true);
  });
});

describe('a recorder that goes away', () => {
  it('is one link, and comes back with what its channels show', async () => {
    const one = await site();
    one.model.queue.push(person(1));
    await until2(one, 'camera:door person+');
    one.model.before = () => ({ reset: true });
    await until(() => links(one.signals).at(-1) === false, 'the loss');
    const down = one.signals.filter((signal) => signal.kind === 'link' && !signal.up);
    expect(down.map(({ source }) => source)).toEqual([{ kind: 'nvr', id: 'rec' }]);
    const { before } = recorderModel();
    if (before !== undefined) one.model.before = before;
    await until(() => links(one.signals).at(-1) === true, 'the return');
    one.model.queue.push(person(2, true, 'Initialized'));
    await until2(one, 'camera:yard person+ replay');
    expect(detections(one.signals).filter(({ detection, active }) => detection === 'video_loss' && active)).toEqual([]);
  });
});
