import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './processes.ts';
import type { CloudEvent } from './record.ts';
import { code, heardFolder, type Stage } from './stage.ts';

/** Tells one step; `ok` is what was verified from the cloud's side or on the LAN. */
export type Tell = (text: string, verified?: string) => void;

/** How long the cloud may take to have what it should. */
const patienceMs = 12_000;

/** The main job, step by step. Throws at the first step the cloud's record does not bear out. */
export async function playStory(stage: Stage, tell: Tell): Promise<void> {
  const { keypad, sensors, panel, camera, line } = stage;

  await cameraIsSubscribed(stage);
  sensors.send('close front_door');
  await keypad.zoneShows('1', 'OFF');
  await keypad.zoneShows('21', 'OFF');
  await keypad.shows('p2', 'disarmed');
  await keypad.arm('p1');
  tell('Closing time. Somebody arms the shop at the keypad and leaves; the exit delay runs.');
  await keypad.shows('p1', 'armed_away');
  await cloudHas(
    stage,
    'the arming',
    (event) => event.payload.kind === 'armed_away' && event.payload.partition === 'p1',
  );
  tell('The shop is armed.', 'the cloud has the arming event');

  sensors.send('open front_door');
  await keypad.shows('p1', 'pending');
  tell('Night. The front door opens; the entry delay starts, and a picture leaves at once.');
  const early = await cloudHas(
    stage,
    'the early picture event',
    (event) => event.payload.kind === 'entry_delay_started',
  );
  check(!early.should_signal_to_monitoring_center, 'the early event does not alarm the station');
  await picturesArrive(stage, early);
  tell(
    'If the box is smashed now, the picture is already safe.',
    `${pictures(early.upload_snapshot_count)} in the cloud`,
  );

  camera.send('person on');
  tell('The camera in the shop sees a person.');

  await keypad.shows('p1', 'triggered');
  const alarm = await cloudHas(
    stage,
    'the alarm',
    (event) =>
      event.event_type === 'alarm' && event.payload.partition === 'p1' && event.should_signal_to_monitoring_center,
  );
  tell(
    'Nobody disarms: alarm.',
    `the cloud accepted "${alarm.payload.kind}", to be signalled to the monitoring station`,
  );
  const siren = await keypad.sounds('rule:intruder');
  tell('The speaker in the shop sounds the siren, by a rule.', 'the LAN shows it playing');
  check(alarm.upload_snapshot_count > 0, 'the alarm announces pictures');
  await picturesArrive(stage, alarm);
  tell('The pictures follow the alarm.', `all ${pictures(alarm.upload_snapshot_count)} it announced are in the cloud`);

  camera.send('person off');
  sensors.send('close front_door');
  await keypad.disarm('p1', code);
  await cloudHas(
    stage,
    'the disarming',
    (event) => event.payload.kind === 'disarmed' && event.payload.partition === 'p1',
  );
  tell('The owner comes and disarms with a code.', 'the cloud has the disarming event');
  const { status, reasons } = await keypad.ended(siren);
  check(status === 'cancelled' && reasons.join() === 'disarmed', 'the siren ends with the disarm');
  const { file, seconds, loudest } = heard(stage);
  check(seconds > 0.2 && loudest > 0.2, 'the siren was heard until then');
  tell('The siren is silent. What was heard lies in a file.', `${seconds.toFixed(1)} s of sound in ${file}`);

  const before = await stage.cloud.events();
  await line.cut();
  tell('The internet line is cut.');
  panel.send('arm Warehouse');
  await keypad.shows('p2', 'armed_away');
  panel.send('open Loading_gate');
  await keypad.shows('p2', 'triggered');
  await eventually('both events on the LAN', () => (lanAlarmOfWarehouse(stage) ? true : undefined));
  const during = await stage.cloud.events();
  check(during.length === before.length, 'nothing reaches the cloud over a cut line');
  tell(
    'The warehouse panel is armed at its own keypad, then its gate is forced. The site knows at once; the events wait.',
    'nothing arrived at the cloud',
  );

  await line.restore();
  tell('The line is back.');
  const armed = await cloudHas(
    stage,
    'the arming of the warehouse',
    (event) => event.payload.kind === 'armed_away' && event.payload.partition === 'p2',
  );
  const gate = await cloudHas(
    stage,
    'the alarm of the warehouse',
    (event) => event.event_type === 'alarm' && event.payload.partition === 'p2',
  );
  await picturesArrive(stage, gate);
  await inOrder(stage, armed, gate);
  tell('Both events were delivered.', 'in the order they happened, none twice, with their pictures');
}

/** The camera has been asked for its events; before that nobody would hear what it sees. */
async function cameraIsSubscribed(stage: Stage): Promise<void> {
  await eventually('the shop camera subscribed', async () => {
    const counts = await stage.camera.ask(
      'counts',
      (line) => (line.includes('"subscriptions"') ? line : undefined),
      'counts',
      1000,
    );
    return (JSON.parse(counts) as { subscriptions: number }).subscriptions > 0 ? true : undefined;
  });
}

function cloudHas(stage: Stage, what: string, matches: (event: CloudEvent) => boolean): Promise<CloudEvent> {
  return eventually(`${what} in the cloud`, async () => (await stage.cloud.events()).find(matches), {
    timeoutMs: patienceMs,
  });
}

/** The newest file of the speaker: 16 bits behind a head of 44 bytes. */
function heard({ folder }: Stage): { file: string; seconds: number; loudest: number } {
  const path = join(folder, heardFolder);
  const name = readdirSync(path)
    .filter((one) => one.endsWith('.wav'))
    .sort()
    .at(-1);
  if (name === undefined) throw new Error(`no sound lies in ${path}`);
  const file = join(path, name);
  const bytes = readFileSync(file);
  let loudest = 0;
  for (let at = 44; at + 1 < bytes.length; at += 2)
    loudest = Math.max(loudest, Math.abs(bytes.readInt16LE(at)) / 32_768);
  return { file, loudest, seconds: (bytes.length - 44) / bytes.readUInt32LE(28) };
}

/** Every announced picture of the event lies in the cloud, each once, none empty. */
async function picturesArrive(stage: Stage, event: CloudEvent): Promise<void> {
  await eventually(
    `${pictures(event.upload_snapshot_count)} of ${event.payload.kind} in the cloud`,
    async () => {
      const mine = (await stage.cloud.uploads()).filter(
        (upload) => upload.event_id === event.event_id && upload.bytes > 500,
      );
      return new Set(mine.map((upload) => upload.index)).size === event.upload_snapshot_count ? true : undefined;
    },
    { timeoutMs: patienceMs },
  );
}

async function inOrder(stage: Stage, first: CloudEvent, second: CloudEvent): Promise<void> {
  const events = await stage.cloud.events();
  const ids = events.map((event) => event.event_id);
  check(new Set(ids).size === ids.length, 'no event is in the cloud twice');
  check(
    ids.indexOf(first.event_id) < ids.indexOf(second.event_id),
    'the arming arrived before the alarm that followed it',
  );
  check(first.payload.seq < second.payload.seq, 'the numbers tell the same order');
}

const lanAlarmOfWarehouse = (stage: Stage): boolean =>
  stage.keypad.seen().filter((kind) => kind.startsWith('burglary')).length >= 2;

const pictures = (count: number): string => (count === 1 ? '1 picture' : `${count} pictures`);

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not so: ${what}`);
}
