import { createHash } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { camera, type Site, startSite } from '../harness/site.ts';

/** A picture over MQTT by the daemon, with the privacy of `siteward camera snapshot`. */
let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

it('takes a picture where the camera may show one, and none where it may not', { timeout: 90_000 }, async () => {
  const started = await startSite({
    cameras: ['yard', 'hall'],
    yaml: (at) => `partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
cameras:
${camera('yard', at.cameras.yard, 'partition: p1, pictures: always')}
${camera('hall', at.cameras.hall, 'partition: p1, pictures: alarm')}
`,
  });
  site = started;
  const pictures: Buffer[] = [];
  const client = await connectAsync(started.mqttUrl);
  client.on('message', (_topic, payload) => pictures.push(payload));
  await client.subscribeAsync(`${started.root}/camera/+/image`);
  for (const id of ['yard', 'hall']) await started.lan.shows(`camera/${id}/availability`, 'online', 30_000);
  const reply = await started.lan.ask('snapshot', { camera: 'yard' });
  const jpeg = await eventually('the picture', () => pictures[0]);
  const sha256 = createHash('sha256').update(jpeg).digest('hex');
  expect(reply).toMatchObject({ outcome: 'done', data: { camera: 'yard', bytes: jpeg.length, sha256 } });
  expect(await started.lan.ask('snapshot', { camera: 'hall' })).toMatchObject({
    outcome: 'refused',
    error: { code: 'NOT_ALLOWED', field: 'camera' },
  });
  expect(await started.lan.ask('dispatch', { kind: 'guard' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
  expect(pictures).toHaveLength(1);
  await client.endAsync();
});
