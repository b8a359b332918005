import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import { type ScriptedCamera, startCamera } from '../devices/onvif/scripted-camera.ts';
import { person, type RecorderModel, recorderModel } from '../devices/onvif/scripted-nvr.ts';
import { code, type Site, startSite } from '../harness/site.ts';

let model: RecorderModel;
let recorder: ScriptedCamera;
let site: Site;

beforeAll(async () => {
  model = recorderModel({ holdMs: 200 });
  recorder = await startCamera(model.script);
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
nvrs: [ { id: rec, url: "${recorder.url}", channels: [ { id: door, source: VideoSource_1, zone: "31" } ] } ]
`,
  });
  await site.lan.shows('link/nvr/rec', 'online', 60_000);
}, 120_000);

afterAll(async () => {
  await site?.close();
  await recorder?.close();
});

const alarms = async () =>
  (await site.history()).filter(({ event }) => event.class === 'alarm' && event.status === 'active').length;

/** Said more than once: what was given to a pull whose daemon is dead by now is gone. */
async function says(message: string): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    model.queue.push(message);
    await eventually('a pull', () => (model.queue.length === 0 ? true : undefined), { timeoutMs: 60_000 });
  }
}

it('somebody who is still seen over kills of the daemon is one alarm', async () => {
  const armed = await siteward(['arm', 'p1', '--code-stdin', '--socket', site.socket], {}, code);
  expect(armed).toMatchObject({ code: 0, err: '' });
  await site.lan.shows('partition/p1/state', 'armed_away', 30_000);
  await says(person(1));
  await eventually('the alarm', async () => ((await alarms()) === 1 ? true : undefined), { timeoutMs: 60_000 });
  for (let kills = 0; kills < 2; kills += 1) {
    await site.daemon.kill();
    model.queue.length = 0;
    await site.daemon.restart();
    await says(person(1, true, 'Initialized'));
    await site.lan.shows('zone/31/state', 'ON', 60_000);
  }
  await says(person(1, false));
  await site.lan.shows('zone/31/state', 'OFF', 60_000);
  expect(await alarms()).toBe(1);
}, 240_000);
