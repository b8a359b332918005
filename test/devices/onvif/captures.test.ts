import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { readNotifications } from '#devices/onvif/notification.ts';
import { topicFinder } from '#devices/onvif/topics.ts';
import { SitewardError } from '#errors.ts';
import { parseXml } from '#lib/xml.ts';
import { detections, harness, links, until } from './harness.ts';
import { cameraModel, type Reply, soap, startCamera } from './scripted-camera.ts';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../../shared/data/onvif-captures');
const absent = !existsSync(folder);
const skip = absent ? ' (skipped: ../shared/data/onvif-captures is not there)' : '';

const walk = (path: string): string[] =>
  readdirSync(path).flatMap((name) => {
    const full = join(path, name);
    return statSync(full).isDirectory() ? walk(full) : [full];
  });
const files = absent ? [] : walk(folder).filter((file) => /\.(xml|html)$/.test(file));

/** What a person who knows the field expects of each topic in notifications_seen.tsv: a class, or why there is none. */
const expected: Readonly<Record<string, string>> = {
  '': 'none: the camera sent neither topic nor message',
  'jeff:This/Rule/DoesNotExist': 'other',
  'tns1:AudioSource/tnsaxis:TriggerLevel': 'sound',
  'tns1:Device/Trigger/Relay': 'relay',
  'tns1:Device/Trigger/tnshik:AlarmIn': 'input',
  'tns1:Device/tnsaxis:IO/Port': 'input',
  'tns1:Device/tnsaxis:Light/Status': 'none: its lamp',
  'tns1:Device/tnsaxis:Sensor/PIR': 'input',
  'tns1:LightControl/tnsaxis:LightStatusChanged/Status': 'none: its lamp',
  'tns1:Monitoring/LinkStatus': 'none: speed of the network port',
  'tns1:Monitoring/OperatingTime/LastClockSynchronization': 'none: a time',
  'tns1:Monitoring/OperatingTime/LastReboot': 'none: the first value heard is no reboot',
  'tns1:Monitoring/OperatingTime/LastReset': 'none: a time',
  'tns1:Monitoring/ProcessorUsage': 'none: a measured value',
  'tns1:PTZController/tnsaxis:Move/Channel_1': 'none: it moves',
  'tns1:PTZController/tnsaxis:PTZPresets/Channel_1': 'none: it moves',
  'tns1:RecordingHistory/Recording/State': 'recording',
  'tns1:RecordingHistory/Track/State': 'none: follows the recording',
  'tns1:RuleEngine/CellMotionDetector/LineCross': 'line',
  'tns1:RuleEngine/CellMotionDetector/Motion': 'motion',
  'tns1:RuleEngine/CellMotionDetector/TpSmartEvent': 'vehicle',
  'tns1:RuleEngine/FieldDetector/ObjectsInside': 'intrusion',
  'tns1:RuleEngine/LineDetector/Crossed': 'line',
  'tns1:RuleEngine/MotionRegionDetector/Motion': 'motion',
  'tns1:RuleEngine/MyRuleDetector/Package': 'package',
  'tns1:RuleEngine/ObjectDetection/Object': 'person',
  'tns1:RuleEngine/PeopleDetector/People': 'person',
  'tns1:RuleEngine/TPSmartEventDetector/TPSmartEvent': 'animal|vehicle',
  'tns1:RuleEngine/TamperDetector/Tamper': 'tamper',
  'tns1:RuleEngine/tnsajax:MotionDetector/Detection': 'motion',
  'tns1:RuleEngine/tnsaxis:VMD3/vmd3_video_1': 'motion',
  'tns1:UserAlarm/IVA/HumanShapeDetect': 'person',
  'tns1:VideoSource/GlobalSceneChange/AnalyticsService': 'tamper',
  'tns1:VideoSource/GlobalSceneChange/ImagingService': 'tamper',
  'tns1:VideoSource/ImageTooDark/ImagingService': 'image_quality',
  'tns1:VideoSource/MotionAlarm': 'motion',
  'tns1:VideoSource/tnsaxis:DayNightVision': 'none: day or night',
  'tnsaxis:CameraApplicationPlatform/FenceGuard/Camera1Profile1': 'line',
  'tnsaxis:CameraApplicationPlatform/LoiteringGuard/Camera1Profile1': 'loitering',
  'tnsaxis:CameraApplicationPlatform/MotionGuard/Camera1ProfileANY': 'motion',
  'tnsaxis:CameraApplicationPlatform/ObjectAnalytics/Device1Scenario1': 'intrusion|person',
  'tnsaxis:CameraApplicationPlatform/VMD/Camera1Profile1': 'motion',
  'tnsaxis:CameraApplicationPlatform/VMD/Camera1Profile2': 'motion',
  'tnsaxis:CameraApplicationPlatform/VMD/Camera1ProfileANY': 'motion',
  'tnsaxis:Storage/Alert': 'storage_fault',
};

interface Row {
  readonly topic: string;
  readonly names: string;
  readonly values: string;
  readonly file: string;
}

const rows: readonly Row[] = absent
  ? []
  : readFileSync(join(folder, 'notifications_seen.tsv'), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => {
        const [, topic = '', source, key, data, , , values = '', file = ''] = line.split('\t');
        return { topic, names: [source, key, data].join('|'), values, file };
      });

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

/** Lets a camera session pull these bodies over a socket; returns its signals once all were pulled. */
async function pullAll(bodies: readonly string[]) {
  const model = cameraModel();
  model.queue.push(...bodies);
  const server = await startCamera(async (request, camera) => {
    const next = model.queue[0];
    if (request.operation !== 'PullMessages' || next === undefined || !next.includes('Envelope')) {
      return model.script(request, camera);
    }
    model.queue.shift();
    return { body: next };
  });
  const made = harness([{ id: 'yard', url: server.url }]);
  await made.cameras.start(new AbortController().signal);
  opened.push({ stop: () => server.close() }, made.cameras);
  const empty = () => model.queue.length === 0;
  await until(empty, 'all messages to be pulled');
  const pulls = server.count('PullMessages');
  await until(() => server.count('PullMessages') > pulls + 1, 'one more pull');
  return made;
}

/** Whole answers as they are; single notifications and metadata documents inside an answer. */
function asAnswer(text: string): string {
  if (text.includes('PullMessagesResponse')) return text;
  const found = /<wsnt:NotificationMessage[\s\S]*<\/wsnt:NotificationMessage>/.exec(text)?.[0] ?? '';
  return soap(`<tev:PullMessagesResponse>${found}</tev:PullMessagesResponse>`);
}

describe.skipIf(absent)(`recorded camera answers${skip}`, () => {
  it('are read or refused with a typed error, every one', () => {
    const refused: string[] = [];
    for (const file of files) {
      try {
        readNotifications(parseXml(readFileSync(file)));
      } catch (error) {
        expect(error).toBeInstanceOf(SitewardError);
        refused.push(relative(folder, file));
      }
    }
    expect(files.length).toBeGreaterThan(300);
    // Templates with place holders, a file saved as an escaped string, and web pages.
    expect(refused.sort()).toEqual([
      'agsh-mockup/Error.xml',
      'agsh-mockup/PullMessages.xml',
      'go2rtc/05-GetStreamUri-Unknown.xml',
      'misc/hammeraj-invalid_get_video_source_configurations.xml',
      'protect-listener/html_404_camera_20260321/01-CreatePullPointSubscription-200.html',
      'protect-listener/thingino_wyze_20260321/01-CreatePullPointSubscription-404.html',
    ]);
  });

  it('hold every notification of notifications_seen.tsv, with its items by name', () => {
    const seen = new Set<string>();
    for (const file of [...files, ...walk(folder).filter((name) => name.endsWith('.jsonl'))]) {
      for (const text of bodiesOf(file)) {
        for (const one of notificationsOf(text)) seen.add(`${one.topic}|${one.names}`);
      }
    }
    const missing = rows
      .filter((row) => !seen.has(`${row.topic}|${row.names}`))
      .map((row) => `${row.topic} in ${row.file}`);
    // A template with a place holder inside a tag: it is no XML.
    expect(missing.filter((row) => !row.includes('agsh-mockup/PullMessages.xml'))).toEqual([]);
  });

  it('hold no topic that is neither in the table nor known to be unknown', () => {
    const topics = [...new Set(rows.map((row) => row.topic))];
    expect(topics.filter((topic) => expected[topic] === undefined)).toEqual([]);
    const unexplained = topics.filter((topic) => topicFinder()(topic.replace(/(^|\/)tns1:/g, '$1')) === undefined);
    expect(unexplained.sort()).toEqual(['', 'jeff:This/Rule/DoesNotExist']);
  });

  const byFile = new Map<string, Row[]>();
  for (const row of rows) byFile.set(row.file, [...(byFile.get(row.file) ?? []), row]);
  byFile.delete('agsh-mockup/PullMessages.xml');

  it.each([...byFile])('%s, pulled over a socket, gives the signals its topics mean', async (file, its) => {
    const made = await pullAll([asAnswer(readFileSync(join(folder, file), 'utf8'))]);
    const classes = new Set(detections(made.signals).map((signal) => signal.detection as string));
    for (const row of its) {
      const meant = expected[row.topic] ?? 'missing';
      if (meant.startsWith('none')) continue;
      const known = meant.split('|').some((word) => classes.has(word));
      expect({ topic: row.topic, meant, known }).toEqual({ topic: row.topic, meant, known: true });
    }
    const allowed = its.flatMap((row) => (expected[row.topic] ?? '').split('|'));
    // An Ajax list names a second class; files with several messages of one topic are all allowed by its rows.
    expect([...classes].filter((word) => !allowed.includes(word) && !['vehicle', 'animal'].includes(word))).toEqual([]);
  });
});

describe.skipIf(absent)(`recorded camera sessions${skip}`, () => {
  /** Serves each operation's recorded answers in order; afterwards what the model camera would say. */
  async function replay(name: string) {
    const queues = new Map<string, Reply[]>();
    for (const { action, status, body } of sessionOf(name)) {
      const operation = /(\w+?)(Request)?$/.exec(action)?.[1] ?? '';
      queues.set(operation, [...(queues.get(operation) ?? []), { status, body }]);
    }
    const model = cameraModel();
    const left = () => [...queues].reduce((sum, [, queue]) => sum + queue.length, 0);
    const server = await startCamera(
      async (request, camera) => queues.get(request.operation)?.shift() ?? model.script(request, camera),
    );
    const made = harness([{ id: 'yard', url: server.url, username: 'u' }]);
    await made.cameras.start(new AbortController().signal);
    opened.push({ stop: () => server.close() }, made.cameras);
    return { made, server, model, left, pulls: () => queues.get('PullMessages')?.length ?? 0 };
  }

  it.each(['cell_motion_camera_20260321', 'unvr_cell_motion_119_20260321', 'dahua_dh_sd4a425db_hny_20260219'])(
    '%s: its motions become edges that alternate, one for both topics',
    async (name) => {
      const { made, pulls } = await replay(name);
      await until(() => pulls() === 0, 'all recorded pulls');
      await until(() => links(made.signals).includes(true), 'the link');
      const edges = detections(made.signals).filter((signal) => signal.detection === 'motion');
      expect(edges.length).toBeGreaterThan(0);
      for (const [at, edge] of edges.entries()) expect(edge.active).not.toBe(edges[at - 1]?.active);
    },
  );

  it('a camera that is full says so in words and is subscribed to later', async () => {
    const { made } = await replay('dahua_dh_sd4a425db_hny_20260219');
    await until(() => links(made.signals).includes(true), 'the link');
    expect(made.signals[0]).toMatchObject({ up: false, reason: expect.stringContaining('subscriptions are taken') });
  });

  it('a camera that does not let us in is asked no more', async () => {
    const { made, server } = await replay('hikvision_pullpoint_notauthorized');
    await until(() => made.cameras.status()[0]?.state === 'auth_failed', 'auth_failed');
    expect(server.count('CreatePullPointSubscription')).toBeLessThanOrEqual(3);
  });

  it.each(['html_404_camera_20260321', 'thingino_wyze_20260321'])(
    '%s is no camera with events, and told as such',
    async (name) => {
      const { made } = await replay(name);
      await until(() => made.signals.length > 0, 'a signal');
      expect(made.signals[0]).toMatchObject({ kind: 'link', up: false, reason: expect.stringContaining('not ONVIF') });
    },
  );
});

interface Recorded {
  readonly action: string;
  readonly status: number;
  readonly body: string;
}

function sessionOf(name: string): Recorded[] {
  return readFileSync(join(folder, 'protect-listener', name, 'session.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded);
}

function bodiesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  if (!file.endsWith('.jsonl')) return [text];
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as Recorded).body);
}

/** Topic and item names as the table of sightings writes them. */
function notificationsOf(text: string) {
  try {
    return readNotifications(parseXml(text)).map((one) => ({
      topic: one.rawTopic,
      names: [one.source, one.key, one.data].map((items) => Object.keys(items).join(' ')).join('|'),
    }));
  } catch {
    return [];
  }
}
